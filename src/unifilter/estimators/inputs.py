"""What users pass to an estimator, in the one form that the rest works with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import as_node_mask
from unifilter.graph import Graph, as_graph


def is_data(value: Any) -> bool:
    """Whether something is a PyG ``Data``, which brings features, labels and masks of its own."""
    return not isinstance(value, Graph) and hasattr(value, "edge_index")


def graph_and_features(graph: Any, x: Any) -> tuple[Graph, Any]:
    """A graph of any form, and features: those of a PyG ``Data`` where none are given."""
    if is_data(graph) and x is None:
        x = getattr(graph, "x", None)
    # An edge list does not know of isolated nodes with the highest numbers, the features do.
    rows = np.shape(x)[0] if isinstance(graph, (Tensor, np.ndarray)) and np.ndim(x) == 2 else None
    return as_graph(graph, rows), x


def mask_of(data: Any, name: str, given: Any) -> Any:
    """What is given, or else the mask of a PyG ``Data``."""
    mask = getattr(data, f"{name}_mask", None) if given is None else given
    if mask is not None and getattr(mask, "ndim", 1) == 2:
        raise ValueError(
            f"{name}_mask has shape {list(mask.shape)}, one column a split: pick one, for instance "
            f"data.{name}_mask[:, 0]"
        )
    return mask


def pick(nodes: Any, num_nodes: int) -> Tensor:
    """Node indices in the order they were given in; of a mask, in ascending order; ``None`` is all."""
    if nodes is None:
        return torch.arange(num_nodes)
    mask = as_node_mask(nodes, num_nodes, "nodes")
    values = nodes.detach().cpu().numpy() if isinstance(nodes, Tensor) else np.asarray(nodes)
    return torch.from_numpy(np.flatnonzero(mask) if values.dtype == bool else values.astype(np.int64))


def node_column(nodes: Any) -> Any:
    """Node indices as scikit-learn passes them: a column of one number per row is as good as a list."""
    values = np.asarray(nodes)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def labels_at(nodes: Any, y: Any, num_nodes: int) -> np.ndarray:
    """Labels of some nodes as labels of all, ``None`` where there is none."""
    chosen = pick(nodes, num_nodes).numpy()
    values = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y, dtype=object)
    if values.shape != chosen.shape:
        raise ValueError(
            f"y must have one class per node that is named, shape {list(chosen.shape)}, not {list(values.shape)}"
        )
    everywhere = np.full(num_nodes, None, dtype=object)
    everywhere[chosen] = values
    return everywhere
