from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from unifilter.data import NodeDataset, Split
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.methods import find_method
from unifilter.runs import Run, compare
from unifilter.runs.left_out import check_splits, left_out_of, left_out_of_any

METHOD = find_method("mlp").with_settings({"hidden_channels": 4, "epochs": 2})


@pytest.fixture(scope="module")
def rare() -> NodeDataset:
    """Ten nodes of a hundred are of the rare class, and the rule of the papers trains on all of them."""
    graph = contextual_sbm(num_nodes=100, num_classes=2, homophily=0.8, average_degree=5, num_features=6)
    return replace(graph, labels=torch.arange(100) // 90, class_names=("common", "rare"))


def test_what_is_left_out_is_named_and_what_is_not_is_not_there(rare: NodeDataset) -> None:
    assert left_out_of(rare, rare.split("60")) == {"untested_classes": ["rare"], "unvalidated_classes": ["rare"]}
    assert left_out_of(rare, rare.split("stratified")) == {}
    tested = Split("mine", 0, *map(np.array, ([0, 90], [1], [2, 91])))
    assert left_out_of(rare, tested) == {"unvalidated_classes": ["rare"]}


def test_several_records_leave_out_what_one_of_them_does() -> None:
    records = [{}, {"untested_classes": ["b"]}, {"untested_classes": ["a", "b"]}]
    assert left_out_of_any(records) == {"untested_classes": ["b", "a"]}
    assert left_out_of_any([{}]) == {}


def test_only_literature_and_permission_let_a_class_be_left_out(rare: NodeDataset) -> None:
    split = rare.split("60", 1)
    with pytest.raises(ValueError, match="class 'rare' has 10 labeled nodes, but no validation or test node"):
        check_splits(rare, [rare.split("stratified"), split], allow_missing_classes=False)
    check_splits(rare, [split], allow_missing_classes=True)
    check_splits(rare.with_checked(literature_split="60"), [split], allow_missing_classes=False)
    with pytest.raises(ValueError, match="split 1 of 'random-60-20-20'"):
        check_splits(rare.with_checked(literature_split="stratified"), [split], allow_missing_classes=False)


def test_runs_and_comparisons_refuse_or_mark(rare: NodeDataset, tmp_path: Path) -> None:
    message = "class 'rare' has 10 labeled nodes, .*pass allow_missing_classes=True to train anyway"
    with pytest.raises(ValueError, match=message):
        Run(tmp_path / "run", METHOD, rare, "60", 1)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match=message):
        compare([METHOD], rare, [rare.split("60")])
    run = Run(tmp_path / "run", METHOD, rare, "60", 1, allow_missing_classes=True)
    (record,) = run.train(verbose=False)
    assert record["untested_classes"] == record["unvalidated_classes"] == ["rare"]
    assert run.summary()["untested_classes"] == ["rare"]
    (compared,) = compare([METHOD], rare, [rare.split("60")], allow_missing_classes=True)
    assert compared.records[0]["untested_classes"] == ["rare"]
    honest = Run(tmp_path / "honest", METHOD, rare)
    assert (honest.config["split"], len(honest.splits)) == ("stratified-60-20-20", 10)
    assert "untested_classes" not in next(honest.train(verbose=False))
