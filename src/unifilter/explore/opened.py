"""A data set that is open on the page, with what was computed of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unifilter.data import NodeDataset
from unifilter.datasets import list_datasets, load_dataset
from unifilter.explanation import SpectralExplanation, explain
from unifilter.explore.trained import Trained
from unifilter.methods import Workspace

# The paper's number of hops, which the methods on a factorization have by default: they then share it with the page.
_HOPS = 10


@dataclass(eq=False)
class Opened:
    """One data set.

    Attributes:
        dataset: With raw features.
        published: Whether it is one of the named data sets, so that published settings are meant for it.
        workspace: What methods share.
        explanation: Of the data alone.
        trained: What was learned on it, the oldest first.
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
    """A named data set that is there; one that is not is refused, for nothing is downloaded unasked."""
    if name not in present_names(data_dir):
        raise ValueError(
            f"the data set {name!r} is not on this machine: fetch it first, nothing is downloaded from the page"
        )
    return open_dataset(load_dataset(name, data_dir), published=True, device=device)


def open_dataset(dataset: NodeDataset, published: bool, device: str = "cpu") -> Opened:
    """Factorizes the features and explains them."""
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
        explanation = replace(explanation, homophily_from="a half, for there are no labels")
    # Numbers are computed when they are asked for; what cannot be explained must be known before it is open.
    explanation.to_dict()
    return Opened(dataset, published, workspace, explanation)
