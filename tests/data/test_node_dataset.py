from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from real_graphs import needs_data
from torch_geometric.data import Data

from unifilter.data import (
    NodeDataset,
    Split,
    Table,
    TableEncoder,
    linkx_split,
    pack_features,
    random_split,
    stratified_split,
)
from unifilter.data.splits import SEEDS
from unifilter.data.summary import describe
from unifilter.datasets import load_dataset
from unifilter.graph import Graph

PATH = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=5)


def part(*nodes: int) -> np.ndarray:
    return np.array(nodes, dtype=np.int64)


def small(**changes: Any) -> NodeDataset:
    fields: dict[str, Any] = {
        "name": "small",
        "graph": PATH,
        "features": torch.arange(10.0).reshape(5, 2),
        "labels": torch.tensor([0, 1, 1, 0, 1]),
        "splits": {"mine": (Split("mine", 0, part(0, 1), part(2), part(3)),)},
    }
    return NodeDataset(**(fields | changes))


def labeled(count: int) -> NodeDataset:
    """As many nodes as are asked for, in a ring, of two classes in turn."""
    nodes = torch.arange(count)
    ring = Graph.from_edges(torch.stack([nodes, (nodes + 1) % count]))
    return NodeDataset("ring", ring, torch.ones(count, 1), nodes % 2)


def test_sizes_and_repr() -> None:
    data = small(labels=torch.tensor([0, 1, 1, 0, -1]))
    assert (data.num_nodes, data.num_features, data.num_classes) == (5, 2, 2)
    assert repr(data) == "NodeDataset('small', nodes=5, edges=3, features=2, classes=2, splits=['mine'])"
    assert repr(data.scaled("l2")).endswith("splits=['mine'], feature_scaling='l2')")


def test_a_named_class_without_nodes_counts() -> None:
    assert small(class_names=("a", "b", "c")).num_classes == 3


def test_features_keep_their_precision_and_stay_sparse() -> None:
    for dtype in (torch.float32, torch.float64):
        assert small(features=torch.ones(5, 2, dtype=dtype)).features.dtype == dtype
        for sparse in (sp.csr_array(torch.eye(5, dtype=dtype).numpy()), torch.eye(5, dtype=dtype).to_sparse_coo()):
            features = small(features=sparse).features
            assert features.layout == torch.sparse_csr
            assert features.dtype == dtype
            assert torch.equal(features.to_dense(), torch.eye(5, dtype=dtype))


def test_the_checksum_sees_what_single_precision_cannot_hold() -> None:
    third = torch.full((5, 2), 1 / 3, dtype=torch.float64)
    single = small(features=third.float())
    assert small(features=third).checksum != single.checksum
    assert small(features=third.float().double()).checksum == single.checksum


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": torch.ones(4, 2)}, "features have 4 rows but the graph has 5 nodes"),
        (
            {"features": torch.tensor([[0.0], [1], [float("nan")], [1], [1]])},
            "feature column 0 of node 2 is not finite",
        ),
        ({"labels": torch.zeros(4)}, "labels must have one class index per node"),
        ({"labels": torch.tensor([0, 1, -2, 0, 0])}, "the label of node 2 is -2"),
        ({"class_names": ("only",)}, "node 1 is of class 1, but there are 1 class_names: name every class"),
        ({"metric": "f1"}, "metric must be one of 'accuracy', 'balanced_accuracy', 'macro_f1', 'roc_auc', not 'f1'"),
        ({"feature_scaling": "column"}, "feature_scaling must be one of 'raw', 'row', 'l2'"),
        (
            {"splits": {"mine": (Split("mine", 0, part(0), part(0), part(1)),)}},
            "in split 0 of 'mine', in train and val",
        ),
        ({"splits": {"mine": (Split("mine", 3, part(0), part(1), part(9)),)}}, "contains node 9, which does not exist"),
        ({"labels": torch.tensor([-1, 1, 1, 0, 1])}, "node 0 in the train set of split 0 of 'mine' has no label"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        small(**changes)


def test_checksum_is_that_of_the_content() -> None:
    first = small()
    assert re.fullmatch("[0-9a-f]{64}", first.checksum)
    # Names, splits and places say nothing of the content, nor does the way features or edges are written down.
    backwards = Graph.from_edges(PATH.edges()[0].flip(0).flip(1), num_nodes=5)
    for same in (
        replace(first, name="other", source="elsewhere", splits={}, metric="roc_auc"),
        small(graph=backwards),
        small(features=first.features.to_sparse_csr()),
        small(features=first.features.double()),
    ):
        assert same.checksum == first.checksum
    features = first.features.clone()
    features[4, 1] += 1e-5
    weighted = Graph.from_edges(PATH.edges()[0], num_nodes=5, edge_weight=torch.tensor([1.0, 2.0, 1.0]))
    for other in (
        small(features=features),
        small(features=first.features[:, [1, 0]]),
        small(features=torch.cat([first.features, torch.zeros(5, 1)], dim=1)),
        small(labels=torch.tensor([0, 1, 1, 0, 0])),
        small(graph=weighted),
        small(graph=Graph.from_edges(PATH.edges()[0][:, :2], num_nodes=5)),
        small(graph=Graph.from_edges(PATH.edges()[0], num_nodes=5, self_loops="add")),
        first.scaled("row"),
    ):
        assert other.checksum != first.checksum


def people(**changes: Any) -> Table:
    columns = {"age": [31, 45, None, 7, 28], "city": ["Bonn", "Rome", "Bonn", "Rome", "Bonn"]} | changes
    return Table.from_columns(columns, ids=["ann", "bob", "cy", "di", "ed"], where="nodes.csv")


def test_a_table_takes_the_place_of_features() -> None:
    data = small(features=None, table=people())
    assert repr(data) == "NodeDataset('small', nodes=5, edges=3, columns=2, classes=2, splits=['mine'])"
    assert data.inputs is data.table
    assert data.node_ids.tolist() == ["ann", "bob", "cy", "di", "ed"]  # type: ignore[union-attr]
    expected = pack_features(TableEncoder.fit(people()).encode(people()).matrix)
    assert torch.equal(data.features, expected)
    assert (data.features.dtype, data.num_features) == (torch.float32, 5)
    assert data.features is data.features, "encoded twice"
    assert torch.equal(data.to_data().x, expected)
    without = small()
    assert without.inputs is without.features
    assert without.node_ids is None


def test_a_table_is_encoded_only_when_features_are_asked_for() -> None:
    data = small(features=None, table=people(age=[1] * 5, city=["Bonn"] * 5))
    for used in (data, pickle.loads(pickle.dumps(data)), data.with_checked(name="other"), copy.deepcopy(data)):
        assert len(used.checksum) == 64
        assert "columns=2" in repr(used)
        with pytest.raises(ValueError, match=r"nodes\.csv has no usable column"):
            _ = used.features


def test_data_sets_with_tables_pickle() -> None:
    data = small(features=None, table=people())
    again = pickle.loads(pickle.dumps(data))
    assert torch.equal(again.features, data.features)
    assert again.checksum == data.checksum
    assert replace(data, name="other").checksum == data.checksum


def test_the_checksum_covers_a_table_by_name() -> None:
    data = small(features=None, table=people())
    table = people()
    turned = Table(dict(reversed(table.columns.items())), table.ids)
    assert small(features=None, table=turned).checksum == data.checksum
    for other in (people(city=["Bonn", "Roma", "Bonn", "Roma", "Bonn"]), people(age=[31, 45, None, 7, 29])):
        assert small(features=None, table=other).checksum != data.checksum
    assert small(features=None, table=table, labels=torch.tensor([0, 1, 1, 0, 0])).checksum != data.checksum
    # As it was before there were tables.
    assert small().checksum == "58e08232d15b75e6f7b202a823c1d77fbf3087cea8fe476d4cdebf4259969c56"


def test_bad_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="a data set needs features or a table: pass one of them"):
        small(features=None)
    with pytest.raises(ValueError, match="the table has 2 rows but the graph has 5 nodes: pass one row per node"):
        small(features=None, table=people().take([0, 1]))
    with pytest.raises(ValueError, match="'small' are columns of a table, .* encoded: leave out features=\"row\""):
        small(features=None, table=people()).scaled("row")
    assert small(features=None, table=people()).scaled("raw").num_features == 5


def test_stored_zeros_do_not_count_and_stay() -> None:
    dense = torch.tensor([[1.0, 0], [0, 2], [0, 0], [3, 0], [0, 0]])
    rows = sp.csr_array(dense.numpy() + 1)
    rows.data -= 1
    data = small(features=rows)
    assert data.features.values().numel() == 10
    assert data.checksum == small(features=dense).checksum
    assert torch.equal(data.features.to_dense(), dense), "the features changed"


def test_checksum_does_not_depend_on_how_many_rows_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small().checksum
    monkeypatch.setattr("unifilter.data.features._BLOCK_ROWS", 2)
    assert small().checksum == whole


def test_checksum_of_a_known_graph_is_fixed() -> None:
    # Written down once: a change means that stored results no longer name the data they were made with.
    assert load_dataset("karate").checksum.startswith("12e9b4c9")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("scaling", "power"), [("row", 1), ("l2", 2)])
def test_scaling(sparse: bool, scaling: Any, power: int) -> None:
    raw = torch.tensor([[1.0, 3.0, 0.0], [0, 0, 0], [0.5, 0, 0], [2e30, 2e30, 0], [0, 0, 7]])
    data = small(features=raw.to_sparse_csr() if sparse else raw)
    scaled = data.scaled(scaling)
    assert scaled.feature_scaling == scaling
    assert scaled.features.layout == data.features.layout
    dense = scaled.features.to_dense()
    assert torch.allclose(dense.pow(power).sum(dim=1), torch.tensor([1.0, 0, 1, 1, 1]))
    assert torch.allclose(dense[0] * 3, dense[0, 1] * torch.tensor([1.0, 3.0, 0.0]))
    assert torch.equal(data.features.to_dense(), raw), "the original changed"


def test_scaling_twice() -> None:
    row = small().scaled("row")
    assert row.scaled("row") is row
    assert small().scaled("raw").feature_scaling == "raw"
    for other in ("raw", "l2"):
        message = (
            f"already scaled ('row') and cannot become '{other}': load the data set again with features=\"{other}\""
        )
        with pytest.raises(ValueError, match=re.escape(message)):
            row.scaled(other)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="features must be one of 'raw', 'row', 'l2', 'standard', not 'column'"):
        small().scaled("column")  # type: ignore[arg-type]


@pytest.mark.parametrize("sparse", [False, True])
def test_negative_features_count_by_their_size(sparse: bool) -> None:
    features = torch.tensor([[1.0, 1], [0, 1], [1, -1], [0, 0], [-1, 0]])
    data = small(features=features.to_sparse_csr() if sparse else features)
    assert data.scaled("row").features.to_dense().tolist() == [[0.5, 0.5], [0, 1], [0.5, -0.5], [0, 0], [-1, 0]]
    assert data.scaled("l2").features.to_dense()[2].tolist() == pytest.approx([0.5**0.5, -(0.5**0.5)])


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


def test_data_and_back() -> None:
    weighted = Graph.from_edges(PATH.edges()[0], num_nodes=5, edge_weight=torch.tensor([1.0, 2.0, 1.0]))
    data = small(graph=weighted).to_data()
    assert data.edge_index.tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]
    assert data.edge_weight.tolist() == [1, 1, 2, 2, 1, 1]
    assert data.train_mask.tolist() == [[True], [True], [False], [False], [False]]
    assert (data.num_nodes, data.y.tolist()) == (5, [0, 1, 1, 0, 1])
    data.validate()
    back = NodeDataset.from_data(data)
    assert (back.name, back.checksum) == ("small", small(graph=weighted).checksum)
    assert back.split("given").test.tolist() == [3]
    assert "edge_weight" not in small().to_data()


def test_data_with_chosen_splits() -> None:
    data = labeled(50)
    assert "train_mask" not in data.to_data()
    for name, sets in (("60", 10), ("stratified", 10)):
        masks = data.to_data(name)
        assert masks.train_mask.shape == (50, sets)
        assert np.flatnonzero(masks.val_mask[:, 7]).tolist() == data.split(name, 7).val.tolist()


def test_data_is_dense_unless_asked() -> None:
    data = small(features=torch.eye(5).to_sparse_csr())
    assert data.to_data().x.layout == torch.strided
    assert data.to_data(sparse=True).x.layout == torch.sparse_csr
    assert NodeDataset.from_data(data.to_data(sparse=True)).checksum == data.checksum


def test_from_data_with_one_mask_each_and_labels_in_a_column() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    mask = torch.eye(3, dtype=torch.bool)
    data = Data(
        x=torch.eye(3), edge_index=edges, y=torch.tensor([[0], [1], [0]]),
        train_mask=mask[0], val_mask=mask[1], test_mask=mask[2],
    )  # fmt: skip
    found = NodeDataset.from_data(data, name="three", metric="roc_auc")
    assert (found.name, found.metric, found.labels.tolist()) == ("three", "roc_auc", [0, 1, 0])
    assert len(found.splits["given"]) == 1
    assert found.split("given").val.tolist() == [1]
    del data.y, data.train_mask, data.val_mask, data.test_mask
    assert NodeDataset.from_data(data).labels.tolist() == [-1, -1, -1]
    assert NodeDataset.from_data(data).name == "data"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "this Data object has no features: set data.x"),
        ({"edge_index": None}, "this Data object has no edge_index"),
        ({"train_mask": torch.ones(3, dtype=torch.bool)}, "has train_mask but no val_mask: set all three, or delete"),
        ({f"{name}_mask": torch.ones(2, dtype=torch.bool) for name in ("train", "val", "test")},
         "train_mask has shape [2], but the graph has 3 nodes"),
        ({"y": torch.rand(3)}, "labels must be whole numbers"),
    ],
)  # fmt: skip
def test_from_data_names_what_is_wrong(change: dict[str, Any], message: str) -> None:
    data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 1, 0]), num_nodes=3)
    for name, value in change.items():
        data[name] = value
    with pytest.raises(ValueError, match=re.escape(message)):
        NodeDataset.from_data(data)


def test_copies_and_pickles_are_the_same_data() -> None:
    data = small()
    for again in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert again.checksum == data.checksum
        assert again.split("mine").train.tolist() == [0, 1]


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


def test_classes_left_out_have_their_names() -> None:
    data = small(class_names=("a", "b"))
    assert data.missing_classes(data.split()) == {"train": [], "val": ["a"], "test": ["b"]}
    assert small().missing_classes(data.split())["val"] == ["0"]


def test_a_table_is_the_input_and_its_names_count_in_the_checksum() -> None:
    tables = [Table.from_columns({name: [1.0, 2.0, 3.0, 4.0, 5.0]}) for name in ("a", "b", "a")]
    first, other, same = (small(table=table) for table in tables)
    assert first.inputs is tables[0]
    assert small().inputs is not None
    assert torch.equal(small().inputs.to_dense(), small().features.to_dense())
    assert first.inputs_digest == same.inputs_digest != other.inputs_digest
    assert first.checksum == same.checksum
    assert len({first.checksum, other.checksum, small().checksum}) == 3


def test_labels_without_names_may_have_gaps_and_be_of_any_size() -> None:
    data = small(labels=torch.tensor([5, 2**63 - 1, -1, 5, 0]), splits={})
    assert (data.labels.tolist(), data.class_names, data.num_classes) == (
        [1, 2, -1, 1, 0],
        ("0", "5", f"{2**63 - 1}"),
        3,
    )
    assert describe(data).classes == 3
    assert small(labels=torch.tensor([2, 0, 0, 1, 2]), splits={}).class_names == ()
    named = small(labels=torch.tensor([2, 0, 0, 0, 2]), class_names=("a", "b", "c"), splits={})
    assert (named.labels.tolist(), named.num_classes) == ([2, 0, 0, 0, 2], 3)


def test_more_classes_than_nodes_and_no_splits_are_refused() -> None:
    with pytest.raises(ValueError, match="6 class_names for 5 nodes, more classes than nodes: name only classes that"):
        small(class_names=tuple("abcdef"))
    with pytest.raises(ValueError, match="there is no split in 'mine': add some, or leave the name out"):
        small(splits={"mine": ()})
