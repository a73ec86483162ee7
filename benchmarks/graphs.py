"""The graphs that are measured: real ones from the folder UNIFILTER_DATA names, and generated ones of any size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unifilter import Graph, edge_homophily
from unifilter.datasets import load_dataset

REAL = ("cora", "chameleon", "squirrel")
ARXIV_SIZE = "arxiv-size"
ALL = (*REAL, ARXIV_SIZE)


@dataclass(frozen=True)
class Case:
    """A graph with its float32 features and the homophily its bases are made for."""

    name: str
    graph: Graph
    x: Tensor
    homophily: float

    def __str__(self) -> str:
        nodes, channels = self.x.shape
        return f"{self.name}: {nodes:,} nodes, {self.graph.num_edges:,} edges, {channels:,} features"

    @property
    def edge_index(self) -> Tensor:
        """Every edge in both directions, sorted by its first node, as PyG's datasets have it."""
        sources = torch.repeat_interleave(torch.arange(self.graph.num_nodes), self.graph.row_start.diff())
        return torch.stack([sources, self.graph.neighbors.long()])


def cases(names: Sequence[str]) -> Iterator[Case]:
    """One case after the other, so that only one is in memory; says which are skipped, and why."""
    for name in names:
        if name == ARXIV_SIZE:
            # Nodes, edges and features of ogbn-arxiv, and the edge homophily of its labels.
            yield generated(169_343, 1_166_243, 128, name=name, homophily=0.65)
        elif not os.environ.get("UNIFILTER_DATA"):
            print(f"\n{name}: skipped, set UNIFILTER_DATA to a folder with npz/ and planetoid/ to measure it")
        else:
            dataset = load_dataset(name)
            homophily = edge_homophily(dataset.graph, dataset.labels)
            yield Case(name, dataset.graph, dataset.features.to_dense(), homophily)


def generated(
    num_nodes: int, num_edges: int, channels: int, *, name: str = "generated", homophily: float = 0.5, seed: int = 0
) -> Case:
    """A connected-looking random graph with heavy-tailed degrees and normal features.

    Each node chooses one partner, so that none is isolated; the other edges choose both ends. Whoever is chosen is
    chosen in proportion to a Pareto weight. Nodes are in no particular order: the caches get no help.
    """
    rng = np.random.default_rng(seed)
    share = np.cumsum(np.minimum(rng.pareto(1.7, num_nodes) + 1, num_nodes / 100))
    pairs = np.empty(0, dtype=np.int64)
    sources = np.arange(num_nodes)
    while len(pairs) < num_edges:
        targets = np.searchsorted(share, rng.random(len(sources)) * share[-1])
        low, high = np.minimum(sources, targets), np.maximum(sources, targets)
        new = (low * num_nodes + high)[low != high]
        # Distinct pairs in the order they came: what is too much at the end can be cut off.
        joined = np.concatenate([pairs, new])
        pairs = joined[np.sort(np.unique(joined, return_index=True)[1])]
        missing = num_edges - len(pairs)
        sources = np.searchsorted(share, rng.random(max(missing + missing // 4, 1000)) * share[-1])
    edges = np.stack(np.divmod(pairs[:num_edges], num_nodes))
    features = torch.from_numpy(rng.standard_normal((num_nodes, channels), dtype=np.float32))
    return Case(name, Graph.from_edges(edges, num_nodes=num_nodes), features, homophily)
