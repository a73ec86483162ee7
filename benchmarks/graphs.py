"""The graphs that are measured: real ones from the folder UNIFILTER_DATA names, and generated ones of any size."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter import Graph, edge_homophily

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
        return torch.stack([sources, self.graph.neighbours.long()])


def cases(names: Sequence[str]) -> Iterator[Case]:
    """One case after the other, so that only one is in memory; says which are skipped, and why."""
    for name in names:
        if name == ARXIV_SIZE:
            # Nodes, edges and features of ogbn-arxiv, and the edge homophily of its labels.
            yield generated(169_343, 1_166_243, 128, name=name, homophily=0.65)
        elif not os.environ.get("UNIFILTER_DATA"):
            print(f"\n{name}: skipped, set UNIFILTER_DATA to a folder with npz/ and planetoid/ to measure it")
        else:
            edges, features, labels = _planetoid(name) if name == "cora" else _npz(name)
            graph = Graph.from_edges(edges, num_nodes=len(labels))
            yield Case(name, graph, torch.from_numpy(features), edge_homophily(graph, labels))


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


def _npz(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.load(_folder() / "npz" / f"{name}.npz") as file:
        return file["edges"].T, file["node_features"].astype(np.float32), file["node_labels"].astype(np.int64)


def _planetoid(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    def part(suffix: str) -> Any:
        with (_folder() / "planetoid" / f"ind.{name}.{suffix}").open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pickles of another age: numpy and scipy announce what they renamed since
            return pickle.load(file, encoding="latin1")

    # The rows of the test nodes are stored in the order of their own index file.
    order = np.loadtxt(_folder() / "planetoid" / f"ind.{name}.test.index", dtype=np.int64)
    features = np.concatenate([part("allx").toarray(), part("tx").toarray()]).astype(np.float32)
    labels = np.concatenate([part("ally"), part("ty")]).argmax(axis=1)
    features[order], labels[order] = features[np.sort(order)], labels[np.sort(order)]
    edges = [(node, other) for node, others in part("graph").items() for other in others]
    return np.array(edges, dtype=np.int64).T, features, labels


def _folder() -> Path:
    return Path(os.environ["UNIFILTER_DATA"])
