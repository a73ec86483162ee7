"""Several methods on the same splits: what they score, what they cost, and the filters they learned."""

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
from unifilter.methods import Method, Problem, Workspace
from unifilter.runs.constant import constant_score
from unifilter.runs.left_out import check_splits
from unifilter.runs.record import record_of
from unifilter.runs.typical_response import typical_response

# The Laplacian eigenvalues at which responses are compared.
EIGENVALUES = np.linspace(0.0, 2.0, 201)
# The span of a method without a factorization is read from one of at most so many feature columns: it is a mean over
# them, and the vectors of all columns of a large graph would not fit into memory.
_SPAN_COLUMNS, _SPAN_HOPS = 256, 10


@dataclass(frozen=True, eq=False)
class Compared:
    """One method on all splits.

    Attributes:
        name: The method.
        records: What each split gave; see :func:`unifilter.runs.record.record_of`.
        responses: The learned filter of each split on the Laplacian eigenvalues in [0, 2], for a typical channel (see
            :func:`unifilter.runs.typical_response.typical_response`), ``[splits, eigenvalues]``; ``None`` for a method
            that learns no filter.
        span: The eigenvalues that hold all energy of the features but 1 % at each end: elsewhere a response says
            nothing. See :class:`unifilter.factorization.energy.EnergyShare`.
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

        Filters differ in scale by what their models do next, so only their shapes can be compared. A response of zeros
        stays as it is.
        """
        if self.responses is None:
            return None
        size = np.abs(self.responses[:, within(self.span, EIGENVALUES)]).max(axis=1, keepdims=True)
        scaled: np.ndarray = self.responses / np.where(size > 0, size, 1.0)
        return scaled

    def mean_and_std(self, score: str) -> tuple[float, float] | None:
        """Over the splits that have this score; ``None`` where none has, such as ROC AUC on test nodes of one class."""
        values = [record[score] for record in self.records if score in record]
        return (float(np.mean(values)), float(np.std(values))) if values else None


def compare(
    methods: Sequence[Method],
    dataset: NodeDataset,
    splits: Sequence[Split],
    *,
    device: str = "cpu",
    allow_missing_classes: bool = False,
    verbose: bool = False,
    on_method: Callable[[Compared], None] | None = None,
) -> list[Compared]:
    """Train every method on every split; all share one workspace, so a factorization is computed once.

    Args:
        methods: With their hyper-parameters.
        dataset: The data set, with raw features.
        splits: Where to train and test.
        device: Where to compute.
        allow_missing_classes: Train although a split has no training, validation or test node of some class. The
            records then name the classes that the scores say nothing about.
        verbose: Whether to show progress.
        on_method: Called with each method that is done.
    """
    check_splits(dataset, splits, allow_missing_classes)
    workspace = Workspace(dataset, device)
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
    """The score of the best constant answer on each split: what every method has to beat."""
    workspace = Workspace(dataset)
    return [constant_score(Problem(workspace, one.train, one.val).task, metric, one) for one in splits]


def plot_responses(results: Sequence[Compared], title: str, path: Path) -> bool:
    """Every learned filter on one axis; whether there was any to draw.

    A curve is the mean over the splits, the band around it goes from the lowest to the highest split. Each response is
    divided by its largest absolute value where the features have energy. What lies outside, for all methods, is shaded:
    there a polynomial may grow without bounds, and is cut off.
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
    """The eigenvalues that hold almost all energy of the features as the model takes them."""
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
