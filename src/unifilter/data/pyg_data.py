"""Conversion between data sets and PyG's ``Data``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unifilter._internal.checks import as_node_mask
from unifilter._internal.extras import require
from unifilter.data.features import pack_features
from unifilter.data.named_splits import all_splits
from unifilter.data.splits import Split, masks_to_splits
from unifilter.graph import Direction, Graph

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from unifilter.data.node_dataset import NodeDataset


def to_data(dataset: NodeDataset, split: str | None, sparse: bool) -> Data:
    """See :meth:`unifilter.data.NodeDataset.to_data`."""
    require("pyg", what="to_data")
    from torch_geometric.data import Data

    graph, features = dataset.graph, dataset.features
    sources = torch.repeat_interleave(torch.arange(graph.num_nodes, device=graph.device), graph.row_start.diff())
    ends = torch.stack([sources, graph.neighbors.long()])
    data = Data(
        x=features if sparse or features.layout == torch.strided else features.to_dense(),
        edge_index=ends.flip(0) if graph.direction == "in" else ends,
        y=dataset.labels,
    )
    data.num_nodes = dataset.num_nodes
    data.name = dataset.name
    if graph.weights is not None:
        data.edge_weight = graph.weights
    if split is None and dataset.splits:
        split = next(iter(dataset.splits))
    if split is not None:
        chosen = all_splits(dataset, split)
        for part in ("train", "val", "test"):
            columns = [as_node_mask(getattr(one, part), dataset.num_nodes, part) for one in chosen]
            data[f"{part}_mask"] = torch.from_numpy(np.stack(columns, axis=1))
    return data


def fields_of_data(data: Data, name: str | None, direction: Direction) -> dict[str, Any]:
    """Fields of a data set. See :meth:`unifilter.data.NodeDataset.from_data`."""
    if getattr(data, "x", None) is None:
        raise ValueError("this Data object has no features: set data.x (a [num_nodes, num_features] tensor) first")
    features = pack_features(data.x)  # first, because a matrix without columns can claim any number of nodes
    graph = Graph.from_data(data, direction=direction)
    y = getattr(data, "y", None)
    labels = torch.full((graph.num_nodes,), -1) if y is None else y
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]  # as in OGB
    return {
        "name": str(getattr(data, "name", "data")) if name is None else name,
        "graph": graph,
        "features": features,
        "labels": labels,
        "splits": _splits_of_masks(data, graph.num_nodes),
        "source": "a PyG Data object",
    }


def _splits_of_masks(data: Data, num_nodes: int) -> dict[str, tuple[Split, ...]]:
    masks = {part: getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")}
    there = [part for part, mask in masks.items() if mask is not None]
    if not there:
        return {}
    for part, mask in masks.items():
        if mask is None:
            raise ValueError(
                f"this Data object has {there[0]}_mask but no {part}_mask: set all three, or delete the others"
            )
        if mask.shape[0] != num_nodes:
            raise ValueError(
                f"{part}_mask has shape {list(mask.shape)}, but the graph has {num_nodes} nodes: pass one value, or "
                "one row of values, per node"
            )
    return {"given": masks_to_splits("given", **masks)}
