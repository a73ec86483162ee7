from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from small_datasets import PATH, labeled, small
from torch_geometric.data import Data

from unifilter.data import NodeDataset
from unifilter.graph import Graph


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
