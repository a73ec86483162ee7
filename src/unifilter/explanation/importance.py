"""Importance of features and hops, for the whole model and for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import as_feature_matrix, as_node_mask, check_choice, check_count
from unifilter.estimators import TrainedModel
from unifilter.explanation.filter_parts import FilterAndMLP, integrated_gradients

# Steps of the path integrals, fewer than for a single node because errors average out over nodes. `gap` reports the
# remaining error; without batch normalization it is zero, because the gradient is constant along the path.
_STEPS = 32
# Number of random nodes that the average node is estimated from.
_AVERAGED = 512


@dataclass(frozen=True, eq=False, repr=False)
class Importance:
    """Importance of hops and features for predictions.

    Attributes:
        measure: ``"score"``: contributions to the score of the predicted class, its logit minus the mean of all logits.
            ``"accuracy"``: accuracy lost without the feature.
        features: For the whole model, ``[features]``. For scores, the mean over nodes of the absolute contribution.
        per_class_features: ``[classes, features]``, with a sign: the mean contribution to the score of a class over the
            nodes predicted as that class, or the accuracy lost on the nodes of a class. NaN for a class without nodes.
        hops: Importance of each hop, ``[hops + 1]``; ``None`` for accuracy.
        per_class_hops: Importance of each hop for each class, ``[classes, hops + 1]``, or ``None``.
        names: Names of the features: of columns, or of groups of columns.
        classes: Names of the classes.
        class_nodes: Number of nodes of each class, ``[classes]``.
        gap: For scores, the share that the contributions leave unexplained; ``None`` for accuracy.
    """

    measure: Literal["score", "accuracy"]
    features: np.ndarray
    per_class_features: np.ndarray
    hops: np.ndarray | None
    per_class_hops: np.ndarray | None
    names: tuple[str, ...]
    classes: np.ndarray
    class_nodes: np.ndarray
    gap: float | None = None

    def __repr__(self) -> str:
        hops = "" if self.hops is None else f"hops={len(self.hops) - 1}, "
        return (
            f"{type(self).__name__}({self.measure!r}, nodes={int(self.class_nodes.sum())}, {hops}"
            f"features={len(self.features)}, classes={len(self.classes)})"
        )

    def top_features(self, count: int = 10) -> list[tuple[str, float]]:
        """The most important features with their importance."""
        return self._top(self.features, count)

    def to_dict(self, top: int = 20) -> dict[str, Any]:
        """As plain values: all hops, and the ``top`` features of the whole model and of each class."""
        check_count("top", top, "leave it out for 20")
        return {
            "measure": self.measure,
            "nodes": int(self.class_nodes.sum()),
            "gap": self.gap,
            "hops": None if self.hops is None else self.hops.tolist(),
            "features": self._named(self.features, top),
            "classes": [self._class_dict(index, top) for index in range(len(self.classes))],
        }

    def _class_dict(self, index: int, top: int) -> dict[str, Any]:
        count = int(self.class_nodes[index])
        return {
            "name": self.classes.tolist()[index],
            "nodes": count,
            "hops": None if self.per_class_hops is None or not count else self.per_class_hops[index].tolist(),
            "features": self._named(self.per_class_features[index], top) if count else [],
        }

    def _named(self, values: np.ndarray, top: int) -> list[dict[str, Any]]:
        return [{"name": name, "value": value} for name, value in self._top(values, top)]

    def _top(self, values: np.ndarray, count: int) -> list[tuple[str, float]]:
        order = np.argsort(-np.abs(values), kind="stable")[:count]
        return [(self.names[index], float(values[index])) for index in order]


def feature_importance(
    model: TrainedModel,
    graph: Any,
    x: Any,
    *,
    nodes: Any = None,
    groups: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    max_nodes: int = 512,
    seed: int = 0,
    baseline: Literal["mean", "zero"] = "mean",
) -> Importance:
    """Importance of features and hops for the predictions of a filter followed by an MLP.

    This is :func:`unifilter.explanation.explain_node` over many nodes, relative to the average node. The contributions
    of a node are summed with their signs, over the hops for a feature and over the features for a hop, before absolute
    values are averaged over the nodes. For other methods use
    :func:`unifilter.explanation.permutation_importance`.

    Args:
        model: A model of UniFilter or one of its variants.
        graph: Any graph accepted by :func:`unifilter.graph.as_graph`.
        x: Its features, as passed to ``fit``.
        nodes: Nodes whose predictions are explained, a mask or indices. Default: all.
        groups: A group index from 0 for each column of the model, to add up columns that belong together. Default: the
            columns of a table; otherwise every column separately.
        names: Names of the columns, or of the groups.
        max_nodes: Maximum number of nodes; from more nodes a random sample is drawn.
        seed: Random seed of the sample.
        baseline: What a node is compared with: ``"mean"``, the mean of the filtered features over the nodes of the
            graph (over a sample of at most 512), so that what all nodes have in common does not count; or ``"zero"``,
            as in ``explain_node``.

    Example:
        >>> from unifilter import UniFilterClassifier
        >>> from unifilter.datasets import load_dataset
        >>> from unifilter.explanation import feature_importance
        >>> karate = load_dataset("karate")
        >>> clf = UniFilterClassifier(hops=4, homophily=0.8, epochs=50)
        >>> clf = clf.fit(karate.graph, karate.features, karate.labels, train=[0, 1, 33, 32])
        >>> feature_importance(clf.model_, karate.graph, karate.features)
        Importance('score', nodes=34, hops=4, features=34, classes=2)
    """
    parts = FilterAndMLP.of(model, "use permutation_importance")
    known = model.graph_of(graph).to("cpu")
    features = as_feature_matrix(model.prepare(x), known.num_nodes)
    if groups is None and names is None:
        groups, names = columns_of_table(model)
    group, group_names = column_groups(features.shape[1], groups, names)
    chosen = _drawn(nodes, known.num_nodes, check_count("max_nodes", max_nodes, "leave it out for 512"), seed)

    check_choice("baseline", baseline, ("mean", "zero"))
    average = _drawn(None, known.num_nodes, _AVERAGED, seed) if baseline == "mean" else chosen[:0]
    both, count = torch.cat([chosen, average]), len(chosen)

    filtered = torch.empty(count, features.shape[1], dtype=torch.float64)
    start = torch.zeros(features.shape[1], dtype=torch.float64)
    for columns, by_hop in parts.by_hop(known, features, both):
        filtered[:, columns] = by_hop[:, :count].sum(dim=0)
        start[columns] = _mean_of(by_hop[:, count:]).sum(dim=0)
    with torch.no_grad():
        predicted = parts.mlp(filtered).argmax(dim=1)
    gradient, score, score_at_start = integrated_gradients(
        parts.mlp, filtered, predicted, _STEPS, model.task == "classification", start
    )
    contribution = (filtered - start) * gradient
    of_feature = contribution.new_zeros(len(chosen), len(group_names)).index_add_(1, group, contribution)
    # The contributions by hop of all columns may not fit in memory, so they are computed a second time.
    of_hop = contribution.new_zeros(len(chosen), len(parts.weighted))
    for columns, by_hop in parts.by_hop(known, features, both):
        apart = by_hop[:, :count] - _mean_of(by_hop[:, count:])[:, None]
        of_hop += torch.einsum("knc,nc->nk", apart, gradient[:, columns])

    explained = score - score_at_start
    missing = (explained - contribution.sum(dim=1)).abs().mean()
    return Importance(
        measure="score",
        features=of_feature.abs().mean(dim=0).numpy(),
        per_class_features=_class_means(of_feature, predicted, len(model.classes)),
        hops=of_hop.abs().mean(dim=0).numpy(),
        per_class_hops=_class_means(of_hop, predicted, len(model.classes)),
        names=group_names,
        classes=model.classes,
        class_nodes=np.bincount(predicted.numpy(), minlength=len(model.classes)),
        gap=float(missing / explained.abs().mean().clamp(min=torch.finfo(torch.float64).tiny)),
    )


def columns_of_table(model: TrainedModel) -> tuple[list[int] | None, list[str] | None]:
    """For a model on tables: the index of the table column of each feature, and the names of these columns."""
    groups, names = model.preparation.groups, model.preparation.columns_in
    if groups is None or names is None:
        return None, None
    # Columns without information have no features.
    used = sorted(set(groups))
    return [used.index(group) for group in groups], [names[group] for group in used]


def column_groups(
    columns: int, groups: Sequence[int] | None, names: Sequence[str] | None
) -> tuple[Tensor, tuple[str, ...]]:
    """The group of each column ``[columns]``, and the names of the groups. Default: one group per column."""
    if groups is None:
        group = torch.arange(columns)
    else:
        group = torch.as_tensor(groups)
        if group.shape != (columns,) or group.is_floating_point() or bool((group < 0).any()):
            raise ValueError(
                f"groups must be {columns} integers from 0, one for each feature column, not {list(group.shape)} "
                f"of {group.dtype}"
            )
    count = int(group.max()) + 1
    empty = set(range(count)) - set(group.tolist())
    if empty:
        raise ValueError(f"group {min(empty)} has no columns: count groups from 0 without leaving one out")
    if names is None:
        return group.long(), tuple(f"feature {index}" for index in range(count))
    if len(names) != count:
        raise ValueError(f"there are {len(names)} names for {count} features: name each column, or each group")
    return group.long(), tuple(map(str, names))


def _drawn(nodes: Any, num_nodes: int, most: int, seed: int) -> Tensor:
    """Indices of the nodes to explain, a random sample if there are more than ``most``."""
    all_nodes = np.arange(num_nodes) if nodes is None else np.flatnonzero(as_node_mask(nodes, num_nodes, "nodes"))
    if len(all_nodes) == 0:
        raise ValueError("nodes is empty: pass some nodes, or leave nodes out for all")
    if len(all_nodes) > most:
        all_nodes = np.sort(np.random.default_rng(seed).choice(all_nodes, most, replace=False))
    return torch.from_numpy(all_nodes)


def _mean_of(by_hop: Tensor) -> Tensor:
    """Mean over the nodes, ``[m, columns]``; zero if there are none."""
    return by_hop.sum(dim=1) / max(by_hop.shape[1], 1)


def _class_means(values: Tensor, predicted: Tensor, count: int) -> np.ndarray:
    """Mean of the rows of each class; NaN for a class without rows."""
    total = values.new_zeros(count, values.shape[1]).index_add_(0, predicted, values)
    means: np.ndarray = (total / torch.bincount(predicted, minlength=count)[:, None]).numpy()
    return means
