from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from typing import Any

import pytest
import scipy.sparse as sp
import torch
from small_datasets import PATH, part, small

from unifilter.data import (
    Split,
    Table,
    TableEncoder,
    pack_features,
)
from unifilter.data.summary import describe
from unifilter.datasets import load_dataset
from unifilter.graph import Graph


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


def test_copies_and_pickles_are_the_same_data() -> None:
    data = small()
    for again in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert again.checksum == data.checksum
        assert again.split("mine").train.tolist() == [0, 1]


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
