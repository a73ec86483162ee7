"""The data of the experiments: the named data sets, files of one's own in their place, and the generated graphs."""

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
from unifilter.datasets.synthetic import binary_tree, cora_relabeled
from unifilter.graph import Graph

# Gigabytes: they are read where they are, and never downloaded on the way.
_ONLY_IF_PRESENT = ("penn94", "genius", "ogbn-arxiv")
# Large enough that one random graph shows what the mean over many does.
_REGULAR_NODES, _REGULAR_DEGREE = 1000, 6


@dataclass(frozen=True)
class Facts:
    """What planning needs to know of a data set.

    Attributes:
        checksum: Of its content.
        metric: How it is scored.
        splits: Number of splits that it comes with, by the name of their rule.
    """

    checksum: str
    metric: Metric
    splits: Mapping[str, int]


@dataclass(frozen=True)
class Sources:
    """Where data comes from; small enough to be sent to other processes.

    Attributes:
        data_dir: The data directory, as in :func:`unifilter.datasets.load_dataset`.
        own: Files that are read instead of the data sets of these names.
        device: Where it is worked on.
    """

    data_dir: Path | None = None
    own: Mapping[str, Path] = field(default_factory=dict)
    device: str = "cpu"

    def load(self, name: str) -> NodeDataset:
        """A data set by its name, ``"binary-tree"``, ``"random-regular"``, or ``"DATASET@H"``: the paper's graph G_s,
        made of a data set's graph and labels reassigned until its homophily is H.
        """
        base, relabeled, homophily = name.partition("@")
        if relabeled:
            try:
                wanted = float(homophily)
            except ValueError:
                raise ValueError(f"{name} names no homophily: write {base}@0.3, for example") from None
            return cora_relabeled(self.load(base), wanted).with_checked(name=name)
        if name in self.own:
            # A file does not say how it is scored; the data set whose place it takes does.
            metric: Metric = next((entry.metric for entry in CATALOG if entry.name == name), "accuracy")
            return load_dataset(self.own[name]).with_checked(name=name, metric=metric)
        if name == "binary-tree":
            return binary_tree()
        if name == "random-regular":
            return _random_regular()
        if name in _ONLY_IF_PRESENT and not self._present(name):
            raise DatasetNotFoundError(
                f"{name} is not in the data directory: unifilter.datasets.fetch({name!r}) gets it"
            )
        return load_dataset(normalized(name), self.data_dir)

    def facts(self, name: str) -> Facts:
        """Loads the data set and keeps what planning needs."""
        dataset = self.load(name)
        return Facts(dataset.checksum, dataset.metric, {rule: len(splits) for rule, splits in dataset.splits.items()})

    def _present(self, name: str) -> bool:
        return any(listing.present for listing in list_datasets(self.data_dir) if listing.name == name)


def full_rule(rule: str, facts: Facts) -> str:
    """The full name of a split rule on a data set; see :func:`choose_split`."""
    if rule == "60":
        return "random-60-20-20"
    if rule == "48":
        return "given" if "geom-gcn-48-32-20" not in facts.splits and "given" in facts.splits else "geom-gcn-48-32-20"
    if rule == "official":
        return next(iter(facts.splits), "linkx-50-25-25")
    return rule


def number_of_splits(rule: str, facts: Facts) -> int:
    """How many splits of a rule there are: those that the data comes with, or as many as are drawn."""
    name = full_rule(rule, facts)
    drawn = name.startswith(("random-", "share-", "linkx-"))
    return facts.splits.get(name, len(SEEDS) if drawn else 0)


def choose_split(dataset: NodeDataset, rule: str, index: int) -> Split:
    """One split by the full name of its rule.

    Besides what :meth:`NodeDataset.split` knows there is ``share-S``, which trains on a share S of the nodes.
    """
    if rule.startswith("share-"):
        return random_split(dataset.labels, float(rule.removeprefix("share-")), 0.2, SEEDS[index], index)
    return dataset.split(rule, index)


def _random_regular() -> NodeDataset:
    # In this order: before networkx 3.4 the nodes come in that of their first edge, and the checksum would differ.
    graph = nx.empty_graph(_REGULAR_NODES)
    graph.add_edges_from(nx.random_regular_graph(_REGULAR_DEGREE, _REGULAR_NODES, seed=0).edges)
    return NodeDataset(
        name="random-regular",
        graph=Graph.from_networkx(graph),
        features=torch.from_numpy(np.random.RandomState(0).standard_normal((_REGULAR_NODES, 32)).astype(np.float32)),
        labels=torch.zeros(_REGULAR_NODES, dtype=torch.int64),
        source="generated, seed 0",
    )
