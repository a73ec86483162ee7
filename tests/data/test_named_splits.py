from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from real_graphs import needs_data
from small_datasets import labeled, part, small
from torch_geometric.data import Data

from unifilter.data import NodeDataset, Split, linkx_split, random_split, stratified_split
from unifilter.data.splits import SEEDS
from unifilter.datasets import load_dataset


def test_splits_by_name() -> None:
    data = small()
    assert data.split("mine") is data.splits["mine"][0]
    with pytest.raises(ValueError, match="'small' has no split '48': it has 'mine', '60', 'stratified', and random"):
        data.split("48")
    with pytest.raises(
        ValueError, match="'small' has 1 'mine' splits, there is no number 1: pass an index from 0 to 0"
    ):
        data.split("mine", 1)
    for index in (-1, 1.5, True):
        with pytest.raises(ValueError, match="the index of a split must be a whole number of at least 0"):
            data.split("mine", index)  # type: ignore[arg-type]


def test_the_short_name_48_is_geom_gcn() -> None:
    masks = (Split("geom-gcn-48-32-20", 0, part(0), part(1), part(2)),)
    data = small(splits={"geom-gcn-48-32-20": masks})
    assert data.split("48") is data.split("geom-gcn-48-32-20") is masks[0]
    with pytest.raises(
        ValueError, match="it has 'geom-gcn-48-32-20', '60', 'stratified', '48', and random ones of any shares"
    ):
        data.split("public")


def test_splits_drawn_on_demand() -> None:
    data = labeled(100)
    for name in ("60", "random-60-20-20"):
        split = data.split(name, 3)
        expected = random_split(data.labels, 0.6, 0.2, SEEDS[3])
        assert (split.name, split.index, split.seed) == ("random-60-20-20", 3, SEEDS[3])
        assert np.array_equal(split.train, expected.train)
        assert np.array_equal(split.test, expected.test)
    other = data.split("random-48-32-20", 4)
    assert (other.name, other.index, other.seed) == ("random-48-32-20", 4, SEEDS[4])
    assert np.array_equal(other.val, random_split(data.labels, 0.48, 0.32, SEEDS[4]).val)
    with pytest.raises(ValueError, match="shares of 'random-50-30-30' add up to 110: they must add up to 100 percent"):
        data.split("random-50-30-30")
    with pytest.raises(ValueError, match="has 10 '60' splits, there is no number 10"):
        data.split("60", 10)
    stratified = data.split("stratified", 12)
    assert stratified.index == 12
    assert np.array_equal(stratified.val, stratified_split(data.labels, 0.6, 0.2, seed=12).val)


@needs_data
def test_the_published_split_sizes() -> None:
    # Sizes that the rule of the polynomial papers gives, and Geom-GCN's masks; Cora's cover 2,485 of 2,708 nodes.
    for name, sizes in (("cora", (1557, 542, 609)), ("citeseer", (1929, 665, 733)), ("actor", (4501, 1520, 1579))):
        split = load_dataset(name).split("60")
        assert (len(split.train), len(split.val), len(split.test)) == sizes
    masks = load_dataset("cora").splits["geom-gcn-48-32-20"]
    assert [len(s.train) + len(s.val) + len(s.test) for s in masks] == [2485] * 10
    public = load_dataset("citeseer").split("public")
    assert (len(public.train), len(public.val), len(public.test)) == (120, 500, 1000)


def test_the_default_split_is_what_comes_with_the_data_else_stratified() -> None:
    assert small(splits={}).default_split == "stratified"
    assert small().default_split == "mine"
    mine = small().splits["mine"]
    assert small(splits={"mine": mine, "given": mine}).default_split == "given"
    assert small(splits={"mine": mine}).split() is mine[0]
    drawn = labeled(30)
    assert np.array_equal(drawn.split(index=2).test, drawn.split("stratified", 2).test)
    data = Data(x=torch.eye(6), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.arange(6) % 2)
    assert NodeDataset.from_data(data).default_split == "stratified"
    data.train_mask, data.val_mask, data.test_mask = torch.eye(3, dtype=torch.bool).repeat(1, 2)
    assert NodeDataset.from_data(data).default_split == "given"


def test_a_benchmark_has_the_split_of_its_literature() -> None:
    data = labeled(30).with_checked(literature_split="60")
    for same in (data, pickle.loads(pickle.dumps(data)), copy.copy(data), data.scaled("row"), replace(data, name="x")):
        assert same.default_split == "60"
        assert same.split().name == "random-60-20-20"
        assert same.is_literature_split(same.split("random-60-20-20", 3))
        assert not same.is_literature_split(same.split("random-48-32-20"))
    masks = replace(small(), literature_split="60")
    assert masks.is_literature_split(masks.split("mine"))
    assert not small().is_literature_split(small().split("mine"))


def test_names_and_numbers_of_splits() -> None:
    masks = {"geom-gcn-48-32-20": small().splits["mine"]}
    assert small().split_names == ("mine", "stratified", "60")
    assert small(splits=masks).split_names == ("geom-gcn-48-32-20", "stratified", "60")
    assert small(splits=masks, literature_split="48").split_names == ("48", "stratified", "60")
    assert small(splits=masks, literature_split="60").split_names == ("60", "geom-gcn-48-32-20", "stratified")
    assert (small().num_splits(), small().num_splits("60"), small(splits=masks).num_splits("48")) == (1, 10, 1)


def test_the_rule_of_linkx_is_drawn_where_no_masks_come_with_the_data() -> None:
    data = labeled(40)
    split = data.split("linkx-50-25-25", 3)
    assert np.array_equal(split.train, linkx_split(data.labels, 3).train)
    assert (split.name, split.index, len(split.train), len(split.val)) == ("linkx-50-25-25", 3, 20, 10)
    given = small(splits={"linkx-50-25-25": small().splits["mine"]})
    assert given.split("linkx-50-25-25") is given.splits["linkx-50-25-25"][0]


def test_a_class_too_small_for_the_default_split_is_named() -> None:
    with pytest.raises(ValueError, match="^class 'a' has 2 labeled nodes, too few"):
        small(splits={}, class_names=("a", "b")).split()
