"""Data of the experiments: named data sets, user files that replace them, and generated graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import networkx as nx
import numpy as np
import torch

from unifilter.data import Metric, NodeDataset, Split, random_split
from unifilter.data.splits import SEEDS
from unifilter.datasets import DatasetNotFoundError, list_datasets, load_dataset
from unifilter.datasets.catalog import CATALOG, normalized
from unifilter.datasets.synthetic import binary_tree, contextual_sbm, cora_relabeled
from unifilter.graph import Graph

# Several gigabytes each: read if present, never downloaded automatically.
_ONLY_IF_PRESENT = ("penn94", "genius", "ogbn-arxiv")
# How well the features of generated graphs know the classes: a classifier without the graph gets most of them right, or
# guesses.
_SIGNALS = {"informative": 2.0, "uninformative": 0.0}
# Large enough that one random graph shows the mean over many.
_REGULAR_NODES, _REGULAR_DEGREE = 1000, 6


@dataclass(frozen=True)
class Facts:
    """Facts about a data set for planning.

    Attributes:
        checksum: Checksum of its content.
        metric: Default metric.
        splits: Number of its own splits, by the name of their rule.
    """

    checksum: str
    metric: Metric
    splits: Mapping[str, int]


@dataclass(frozen=True)
class Sources:
    """Where data comes from. Can be sent to other processes.

    Attributes:
        data_dir: The data directory, as in :func:`unifilter.datasets.load_dataset`.
        own: Files to read instead of the data sets of these names.
        device: Device to compute on.
    """

    data_dir: Path | None = None
    own: Mapping[str, Path] = field(default_factory=dict)
    device: str = "cpu"

    def load(self, name: str) -> NodeDataset:
        """Load a data set by name.

        ``"binary-tree"`` and ``"random-regular"`` are generated. ``"DATASET@H"`` is the paper's graph G_s: the graph of
        a data set with labels reassigned until its homophily is H.
        ``"informative@H"`` and ``"uninformative@H"`` are generated, with features that know the classes, or noise.
        """
        base, relabeled, homophily = name.partition("@")
        if relabeled:
            try:
                wanted = float(homophily)
            except ValueError:
                raise ValueError(f"{name} contains no homophily: write {base}@0.3, for example") from None
            if base in _SIGNALS:
                found = contextual_sbm(1500, 4, wanted, num_features=32, signal=_SIGNALS[base])
                return found.with_checked(name=name)
            return cora_relabeled(self.load(base), wanted).with_checked(name=name)
        if name in self.own:
            # A file does not contain a metric; use that of the data set it replaces.
            metric: Metric = next((entry.metric for entry in CATALOG if entry.name == name), "accuracy")
            return load_dataset(self.own[name]).with_checked(name=name, metric=metric)
        if name == "binary-tree":
            return binary_tree()
        if name == "random-regular":
            return _random_regular()
        if name in _ONLY_IF_PRESENT and not self._present(name):
            raise DatasetNotFoundError(
                f"{name} is not in the data directory: unifilter.datasets.fetch({name!r}) downloads it"
            )
        return load_dataset(normalized(name), self.data_dir)

    def facts(self, name: str) -> Facts:
        """Load a data set and return the facts needed for planning."""
        dataset = self.load(name)
        return Facts(dataset.checksum, dataset.metric, {rule: len(splits) for rule, splits in dataset.splits.items()})

    def _present(self, name: str) -> bool:
        return any(listing.present for listing in list_datasets(self.data_dir) if listing.name == name)


def full_rule(rule: str, facts: Facts) -> str:
    """The full name of a split rule for a data set; see :func:`choose_split`."""
    if rule == "60":
        return "random-60-20-20"
    if rule == "48":
        return "given" if "geom-gcn-48-32-20" not in facts.splits and "given" in facts.splits else "geom-gcn-48-32-20"
    if rule == "official":
        return next(iter(facts.splits), "linkx-50-25-25")
    return rule


def number_of_splits(rule: str, facts: Facts) -> int:
    """Number of splits of a rule: those that come with the data, or as many as can be drawn."""
    name = full_rule(rule, facts)
    drawn = name.startswith(("random-", "share-", "linkx-"))
    return facts.splits.get(name, len(SEEDS) if drawn else 0)


def choose_split(dataset: NodeDataset, rule: str, index: int) -> Split:
    """Return one split by the full name of its rule.

    In addition to the rules of :meth:`NodeDataset.split`, ``share-S`` trains on a share S of the nodes.
    """
    if rule.startswith("share-"):
        return random_split(dataset.labels, float(rule.removeprefix("share-")), 0.2, SEEDS[index], index)
    return dataset.split(rule, index)


def _random_regular() -> NodeDataset:
    # In sorted order: before networkx 3.4 nodes are in the order of their first edge, which changes the checksum.
    graph = nx.empty_graph(_REGULAR_NODES)
    graph.add_edges_from(nx.random_regular_graph(_REGULAR_DEGREE, _REGULAR_NODES, seed=0).edges)
    return NodeDataset(
        name="random-regular",
        graph=Graph.from_networkx(graph),
        features=torch.from_numpy(np.random.RandomState(0).standard_normal((_REGULAR_NODES, 32)).astype(np.float32)),
        labels=torch.zeros(_REGULAR_NODES, dtype=torch.int64),
        source="generated, seed 0",
    )
