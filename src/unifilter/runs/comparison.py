"""Comparison of several methods on the same splits: scores, cost and learned filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unifilter._internal.checks import as_feature_matrix
from unifilter._internal.columns import dense_columns
from unifilter._internal.figures import new_figure
from unifilter.data import Metric, NodeDataset, Split
from unifilter.estimators import TrainedModel, fit
from unifilter.factorization import factorize
from unifilter.factorization.energy import energy_share, gain_axis, within
from unifilter.factorization.typical import with_signal
from unifilter.methods import Method, Problem, Storage, Workspace
from unifilter.runs.constant import constant_score
from unifilter.runs.left_out import check_splits
from unifilter.runs.record import record_of
from unifilter.runs.typical_response import typical_response

# The Laplacian eigenvalues at which responses are compared.
EIGENVALUES = np.linspace(0.0, 2.0, 201)
# For a method without a factorization, the span is estimated from at most this many feature columns. It is a mean over
# columns, and the vectors of all columns of a large graph would not fit in memory.
_SPAN_COLUMNS, _SPAN_HOPS = 256, 10


@dataclass(frozen=True, eq=False)
class Compared:
    """Results of one method on all splits.

    Attributes:
        name: Name of the method.
        records: Record of each split; see :func:`unifilter.runs.record.record_of`.
        responses: Learned filter of each split at Laplacian eigenvalues in [0, 2], for a typical channel (see
            :func:`unifilter.runs.typical_response.typical_response`), ``[splits, eigenvalues]``; ``None`` for a method
            that learns no filter.
        span: Range of eigenvalues with all energy of the features except 1 % at each end. Outside, a response has no
            meaning. See :class:`unifilter.factorization.energy.EnergyShare`.
    """

    name: str
    records: list[dict[str, Any]]
    responses: np.ndarray | None
    span: tuple[float, float] = (0.0, 2.0)

    @property
    def response(self) -> np.ndarray | None:
        """Mean of the responses over the splits."""
        return None if self.responses is None else self.responses.mean(axis=0)

    @property
    def scaled_responses(self) -> np.ndarray | None:
        """The responses, each divided by its largest absolute value inside the span.

        The scale of a filter depends on the layers after it, so only shapes can be compared. A zero response is
        unchanged.
        """
        if self.responses is None:
            return None
        size = np.abs(self.responses[:, within(self.span, EIGENVALUES)]).max(axis=1, keepdims=True)
        scaled: np.ndarray = self.responses / np.where(size > 0, size, 1.0)
        return scaled

    def mean_and_std(self, score: str) -> tuple[float, float] | None:
        """Mean and standard deviation over the splits with this score; ``None`` if there are none."""
        values = [record[score] for record in self.records if score in record]
        return (float(np.mean(values)), float(np.std(values))) if values else None


def compare(
    methods: Sequence[Method],
    dataset: NodeDataset,
    splits: Sequence[Split],
    *,
    device: str = "cpu",
    allow_missing_classes: bool = False,
    storage: Storage | None = None,
    verbose: bool = False,
    on_method: Callable[[Compared], None] | None = None,
) -> list[Compared]:
    """Train every method on every split. Methods share a workspace, so a factorization is computed only once.

    Args:
        methods: Methods with their hyperparameters.
        dataset: The data set, with raw features.
        splits: The splits to train and test on.
        device: Device to compute on.
        allow_missing_classes: Train although some class has no training, validation or test node in a split. The
            records then list the classes that the scores ignore.
        storage: Where to store a factorization that does not fit in memory.
        verbose: Whether to show progress.
        on_method: Called with the result of each method.
    """
    check_splits(dataset, splits, allow_missing_classes)
    workspace = Workspace(dataset, device, storage)
    results = []
    for method in methods:
        records, span = [], (0.0, 2.0)
        responses: list[np.ndarray] = []
        for split in splits:
            label = f"{dataset.name} {method.name} split {split.index}"
            fitted = fit(method, Problem(workspace, split.train, split.val), label=label, verbose=verbose)
            records.append(record_of(fitted, dataset, split))
            response = typical_response(fitted.model, EIGENVALUES, by_energy=True)
            if response is not None:
                span = _span_of_features(fitted.model, dataset) if not responses else span
                responses.append(response)
        results.append(Compared(method.name, records, np.stack(responses) if responses else None, span))
        if on_method is not None:
            on_method(results[-1])
    return results


def constant_scores(dataset: NodeDataset, splits: Sequence[Split], metric: Metric) -> list[float | None]:
    """Score of the best constant prediction on each split, a baseline for every method."""
    workspace = Workspace(dataset)
    return [constant_score(Problem(workspace, one.train, one.val).task, metric, one) for one in splits]


def plot_responses(results: Sequence[Compared], title: str, path: Path) -> bool:
    """Plot every learned filter on one axis. Returns whether there was any.

    Curves are means over the splits, with a band from the lowest to the highest split. Each response is divided by its
    largest absolute value where the features have energy. Eigenvalues outside this range for all methods are shaded:
    there polynomials can be arbitrarily large and are cut off.
    """
    from matplotlib import colormaps

    drawn = [(result, result.scaled_responses) for result in results]
    curves = [(result, scaled) for result, scaled in drawn if scaled is not None]
    if not curves:
        return False
    figure = new_figure(figsize=(8, 4))
    axes = figure.add_subplot()
    axes.axhline(0, color="0.6", linewidth=0.8)
    limits = []
    for number, (result, scaled) in enumerate(curves):
        style = ("-", "--", "-.", ":")[number % 4]
        color = colormaps["viridis"](number / max(len(curves) - 1, 1) * 0.9)
        axes.plot(EIGENVALUES, scaled.mean(axis=0), style, color=color, label=result.name)
        low, high = scaled.min(axis=0), scaled.max(axis=0)
        if len(scaled) > 1:
            axes.fill_between(EIGENVALUES, low, high, color=color, alpha=0.2, linewidth=0)
        limits.append(gain_axis(result.span, EIGENVALUES, low, high))
    first, last = min(result.span[0] for result, _ in curves), max(result.span[1] for result, _ in curves)
    shaded = [(low, high) for low, high in ((0, first), (last, 2)) if low < high]
    for number, (low, high) in enumerate(shaded):
        label = "_" if number else "at most 1 % of the\nfeatures' energy\nat each end"
        axes.axvspan(low, high, color="0.5", alpha=0.2, linewidth=0, label=label)
    axes.set(
        xlabel="Laplacian eigenvalue λ",
        ylabel="gain, divided by its largest\nabsolute value in the white part",
        title=title,
        xlim=(0, 2),
        ylim=(min(low for low, _ in limits), max(high for _, high in limits)),
    )
    figure.legend(loc="outside right upper", frameon=False, title=_legend_title(max(len(s) for _, s in curves)))
    figure.savefig(path, dpi=150)
    return True


def _legend_title(splits: int) -> str | None:
    return None if splits == 1 else f"mean, lowest and\nhighest of {splits} splits"


def _span_of_features(model: TrainedModel, dataset: NodeDataset) -> tuple[float, float]:
    """Range of eigenvalues with almost all energy of the features, as prepared for the model."""
    tridiagonal = model.tridiagonal
    if tridiagonal is None:
        features = as_feature_matrix(model.prepare(dataset.inputs, seen=True), dataset.num_nodes)
        step = -(-features.shape[1] // _SPAN_COLUMNS)
        columns = [dense_columns(features, column, column + 1) for column in range(0, features.shape[1], step)]
        graph = dataset.graph.with_self_loops(model.network.self_loops)
        tridiagonal = factorize(graph, torch.cat(columns, dim=1), _SPAN_HOPS).tridiagonal
    if not (tridiagonal.dimension > 0).any():
        return 0.0, 2.0
    return energy_share(with_signal(tridiagonal)[0]).span
