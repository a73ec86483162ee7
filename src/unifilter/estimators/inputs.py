"""Conversion of the arguments of estimators."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import as_node_mask
from unifilter.data import Table, is_frame
from unifilter.graph import Graph, as_graph


def is_data(value: Any) -> bool:
    """Whether a value is a PyG ``Data``, which contains features, labels and masks."""
    return not isinstance(value, Graph) and hasattr(value, "edge_index")


def graph_and_features(graph: Any, x: Any) -> tuple[Graph, Any]:
    """The graph as a :class:`Graph`, and the features; those of a PyG ``Data`` by default."""
    if is_data(graph) and x is None:
        x = getattr(graph, "x", None)
    # An edge list does not contain isolated nodes at the end; the number of rows of the features does.
    rows = None
    if isinstance(graph, (Tensor, np.ndarray)):
        rows = x.num_rows if isinstance(x, Table) else x.shape[0] if len(getattr(x, "shape", ())) == 2 else None
    return as_graph(graph, rows), x


class FitArguments(NamedTuple):
    """The arguments of ``fit``, converted.

    Attributes:
        graph: The graph.
        x: The features.
        y: The target of each node of the graph.
        nodes: The nodes that ``fit(nodes, y)`` named; ``None`` if the graph was an argument.
        train, val: Training and validation nodes; ``None`` if not given.
    """

    graph: Graph
    x: Any
    y: Any
    nodes: Any
    train: Any
    val: Any


def fit_arguments(own_graph: Any, own_x: Any, graph: Any, x: Any, y: Any, train: Any, val: Any) -> FitArguments:
    """The arguments of ``fit(graph, x, y, train, val)``, or of ``fit(nodes, y)`` if the estimator has a graph."""
    nodes: Any = None
    if own_graph is not None:
        nodes, answers = node_column(graph), x if y is None else y
        if answers is None or (x is not None and y is not None):
            raise ValueError(
                "the graph was passed to the constructor, so fit takes nodes and their targets: fit(nodes, y)"
            )
        graph, x = graph_and_features(own_graph, own_x)
        y, train = answers_at(nodes, answers, graph.num_nodes), nodes
    elif is_data(graph):
        y = getattr(graph, "y", None) if y is None else y
        train, val = mask_of(graph, "train", train), mask_of(graph, "val", val)
    graph, x = graph_and_features(graph, x)
    if x is None or y is None:
        raise ValueError("fit needs the features x and the targets y: fit(graph, x, y, train=..., val=...)")
    return FitArguments(graph, x, y, nodes, train, val)


def mask_of(data: Any, name: str, given: Any) -> Any:
    """The given mask, or that of a PyG ``Data``."""
    mask = getattr(data, f"{name}_mask", None) if given is None else given
    if mask is not None and getattr(mask, "ndim", 1) == 2:
        raise ValueError(
            f"{name}_mask has shape {list(mask.shape)}, one column per split: select one, for example "
            f"data.{name}_mask[:, 0]"
        )
    return mask


def pick(nodes: Any, num_nodes: int) -> Tensor:
    """Node indices in the given order; in ascending order for a mask; all nodes for ``None``."""
    if nodes is None:
        return torch.arange(num_nodes)
    mask = as_node_mask(nodes, num_nodes, "nodes")
    values = nodes.detach().cpu().numpy() if isinstance(nodes, Tensor) else np.asarray(nodes)
    return torch.from_numpy(np.flatnonzero(mask) if values.dtype == bool else values.astype(np.int64))


def node_column(nodes: Any) -> Any:
    """Node indices as passed by scikit-learn, possibly as a column ``[rows, 1]``."""
    values = np.asarray(nodes)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def answers_at(nodes: Any, y: Any, num_nodes: int) -> np.ndarray:
    """Spread targets of some nodes over all nodes; unknown ones are ``None``, or NaN in a matrix."""
    chosen = pick(nodes, num_nodes).numpy()
    values = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if values.ndim == 2 and values.shape[1] > 1 and len(values) == len(chosen):
        matrix = np.full((num_nodes, values.shape[1]), np.nan)
        matrix[chosen] = values
        return matrix
    values = values if isinstance(y, Tensor) else np.asarray(y, dtype=object)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != chosen.shape:
        raise ValueError(f"y must have one value per node, shape {list(chosen.shape)}, not {list(values.shape)}")
    everywhere = np.full(num_nodes, None, dtype=object)
    everywhere[chosen] = values
    return everywhere


def as_table(x: Any) -> Table | None:
    """A DataFrame or table as a table; ``None`` for an array."""
    return Table.from_frame(x) if is_frame(x) else x if isinstance(x, Table) else None


def node_weights(weights: Any, nodes: Any, num_nodes: int) -> np.ndarray | None:
    """Weight of each node, float64 ``[num_nodes]``.

    Args:
        weights: User weights, one per node or one for each of ``nodes``.
        nodes: The nodes of the weights; ``None`` for all.
        num_nodes: Number of nodes of the graph.
    """
    if weights is None:
        return None
    values = np.asarray(weights.detach().cpu() if isinstance(weights, Tensor) else weights)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"sample_weight must be numbers, one per node, not {values.dtype}")
    values = values.astype(np.float64)
    chosen = pick(nodes, num_nodes).numpy()
    if values.shape != chosen.shape:
        raise ValueError(
            f"sample_weight must have one number per node, shape {list(chosen.shape)}, not {list(values.shape)}"
        )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise ValueError(
            f"sample_weight of node {chosen[wrong[0]]} is {values[wrong[0]]}: weights must be finite and not negative"
        )
    everywhere = np.zeros(num_nodes)
    everywhere[chosen] = values
    return everywhere
