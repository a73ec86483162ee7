"""Several methods on the same splits: what they score, what they cost, and the filters they learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unifilter._internal.figures import new_figure
from unifilter.data import NodeDataset, Split
from unifilter.estimators import fit
from unifilter.methods import Method, Problem, Workspace
from unifilter.runs.record import record_of
from unifilter.runs.typical_response import typical_response

# The Laplacian eigenvalues at which responses are compared.
EIGENVALUES = np.linspace(0.0, 2.0, 201)


@dataclass(frozen=True, eq=False)
class Compared:
    """One method on all splits.

    Attributes:
        name: The method.
        records: What each split gave; see :func:`unifilter.runs.record.record_of`.
        response: The learned filter on the Laplacian eigenvalues in [0, 2], for a typical channel (see
            :func:`unifilter.runs.typical_response.typical_response`), mean over the splits; ``None`` for a
            method that learns no filter.
    """

    name: str
    records: list[dict[str, Any]]
    response: np.ndarray | None

    def mean_and_std(self, score: str) -> tuple[float, float]:
        values = [record[score] for record in self.records]
        return float(np.mean(values)), float(np.std(values))


def compare(
    methods: Sequence[Method],
    dataset: NodeDataset,
    splits: Sequence[Split],
    *,
    device: str = "cpu",
    verbose: bool = False,
    on_method: Callable[[Compared], None] | None = None,
) -> list[Compared]:
    """Train every method on every split; all share one workspace, so a factorisation is computed once.

    Args:
        methods: With their hyper-parameters.
        dataset: The data set, with raw features.
        splits: Where to train and test.
        device: Where to compute.
        verbose: Whether to show progress.
        on_method: Called with each method that is done.
    """
    workspace = Workspace(dataset, device)
    results = []
    for method in methods:
        records, responses = [], []
        for split in splits:
            label = f"{dataset.name} {method.name} split {split.index}"
            fitted = fit(method, Problem(workspace, split.train, split.val), label=label, verbose=verbose)
            records.append(record_of(fitted, dataset, split))
            response = typical_response(fitted.model, EIGENVALUES)
            if response is not None:
                responses.append(response)
        results.append(Compared(method.name, records, np.mean(responses, axis=0) if responses else None))
        if on_method is not None:
            on_method(results[-1])
    return results


def plot_responses(results: Sequence[Compared], title: str, path: Path) -> bool:
    """Every learned filter on one axis; whether there was any to draw.

    Filters differ in scale by what their models do next, so each is divided by the size that nine tenths of it stay
    below; where a signal has no energy a polynomial may grow without bounds, and is cut off.
    """
    from matplotlib import colormaps

    drawn = [result for result in results if result.response is not None]
    if not drawn:
        return False
    figure = new_figure(figsize=(7, 4))
    axes = figure.add_subplot()
    axes.axhline(0, color="0.6", linewidth=0.8)
    for number, result in enumerate(drawn):
        response = np.asarray(result.response)
        size = np.quantile(np.abs(response), 0.9) or 1.0
        style = ("-", "--", "-.", ":")[number % 4]
        colour = colormaps["viridis"](number / max(len(drawn) - 1, 1) * 0.9)
        axes.plot(EIGENVALUES, response / size, style, color=colour, label=result.name)
    axes.set(
        xlabel="Laplacian eigenvalue λ",
        ylabel="gain, divided by its 90 % quantile",
        title=title,
        xlim=(0, 2),
        ylim=(-1.6, 1.6),
    )
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=150)
    return True
