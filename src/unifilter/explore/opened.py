"""A data set that is open on the page, with everything computed for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unifilter.data import NodeDataset
from unifilter.datasets import list_datasets, load_dataset
from unifilter.explanation import SpectralExplanation, explain
from unifilter.explore.trained import Trained
from unifilter.methods import Workspace

# The paper's number of hops, the default of methods with a factorization, so that they share it with the page.
_HOPS = 10


@dataclass(eq=False)
class Opened:
    """An open data set.

    Attributes:
        dataset: The data set, with raw features.
        published: Whether it is a named data set, to which published settings apply.
        workspace: Cached computations shared by the methods.
        explanation: Explanation of the data alone.
        trained: Training results, the oldest first.
    """

    dataset: NodeDataset
    published: bool
    workspace: Workspace
    explanation: SpectralExplanation
    trained: list[Trained] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        dataset = self.dataset
        return {
            "name": dataset.name,
            "published": self.published,
            "labeled": bool((dataset.labels >= 0).any()),
            "metric": dataset.metric,
            "splits": list(dataset.split_names),
            "energy_span": list(self.explanation.feature_energy.span),
        }


def present_names(data_dir: Path | None) -> list[str]:
    """Named data sets that can be opened without a download."""
    return [listing.name for listing in list_datasets(data_dir) if listing.present]


def open_present(name: str, data_dir: Path | None, device: str = "cpu") -> Opened:
    """Open a named data set that is available locally. Others raise an error, because the page downloads nothing."""
    if name not in present_names(data_dir):
        raise ValueError(
            f"the data set {name!r} is not on this machine: download it first, the page does not download data sets"
        )
    return open_dataset(load_dataset(name, data_dir), published=True, device=device)


def open_dataset(dataset: NodeDataset, published: bool, device: str = "cpu") -> Opened:
    """Factorize the features and explain them."""
    workspace = Workspace(dataset, device)
    labeled = bool((dataset.labels >= 0).any())
    explanation = explain(
        workspace.factorization("raw", _HOPS),
        graph=dataset.graph,
        labels=dataset.labels if labeled else None,
        homophily=None if labeled else 0.5,
        name=dataset.name,
        class_names=dataset.class_names,
    )
    if not labeled:
        explanation = replace(explanation, homophily_from="0.5, because there are no labels")
    # Numbers are computed on demand. Compute them now, so that an error is reported before the data set is open.
    explanation.to_dict()
    return Opened(dataset, published, workspace, explanation)
