"""Graphs and signals made to break numerics, and the properties that a factorization of them must have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter import Graph, factorize

# Largest length of a signal's error, relative to the signal, and of a wrong inner product.
TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6}
LARGEST_HOPS = 40

Edges = tuple[int, np.ndarray]
Random = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A graph, signals on it, and how far they are followed."""

    name: str
    graph: Graph
    x: Tensor
    hops: int


def make_case(seed: int) -> Case:
    """Any kind of graph, weights, signal, precision and number of hops; the same seed gives the same case."""
    random = np.random.default_rng(seed)
    kind, weighting, signal = (str(random.choice(list(choices))) for choices in (KINDS, WEIGHTS, SIGNALS))
    nodes, edges = KINDS[kind](random)
    weight = WEIGHTS[weighting](random, edges)
    if weight is not None and random.random() < 0.3:
        weight = np.minimum(weight, 1e37).astype(np.float32)
    graph = Graph.from_edges(edges, nodes, weight, self_loops="add" if random.random() < 0.3 else "remove")
    dtype = [torch.float32, torch.float64][random.integers(2)]
    x = torch.from_numpy(SIGNALS[signal](random, nodes)).to(dtype)
    hops = int(random.integers(1, LARGEST_HOPS + 1))
    return Case(f"seed {seed}: {kind}, {weighting} weights, {signal} signals, {dtype}, K = {hops}", graph, x, hops)


def failures(case: Case, reorthogonalize: bool | None = None) -> list[str]:
    """Every property that does not hold, in words; none where all is well."""
    graph, x, hops, tolerance = case.graph, case.x, case.hops, TOLERANCE[case.x.dtype]
    fact = factorize(graph, x, hops, reorthogonalize=reorthogonalize)
    again = factorize(graph, x, hops, reorthogonalize=reorthogonalize)
    tridiagonal, found = fact.tridiagonal, []
    numbers = (fact.vectors, tridiagonal.alpha, tridiagonal.beta, tridiagonal.norm)
    if not all(bool(torch.isfinite(part).all()) for part in numbers):
        return ["not finite"]
    if not all(torch.equal(one, other) for one, other in zip(numbers, (again.vectors, *_small(again)), strict=True)):
        found.append("not repeatable")
    diagnostics = fact.diagnostics(0.3)
    if not diagnostics.orthogonality_loss.max() < tolerance:
        found.append(f"orthogonality lost: {diagnostics.orthogonality_loss.max():.1e}")
    if not diagnostics.angle_error.max() < 4 * tolerance:
        found.append(f"angles off by {diagnostics.angle_error.max():.1e}")
    if not bool((fact.dimension <= nodes_reached(graph, x)).all()):
        found.append(f"dimension {int(fact.dimension.max())} above the nodes that can be reached")
    matrix = propagation_matrix(graph)
    unit = _unit(x)
    error = _error_of_powers(matrix, unit, fact.basis("homophily").double() / _norms(x), hops)
    if not error < tolerance:
        found.append(f"powers off by {error:.1e}")
    error = float((graph.propagate(unit.to(x.dtype)).double() - torch.from_numpy(matrix @ unit.numpy())).abs().max())
    if not error < tolerance:
        found.append(f"propagate off by {error:.1e}")
    return found + _wrong_frequencies(fact, matrix, unit, tolerance)


def excess_dimensions(case: Case) -> list[int]:
    """How many dimensions more each signal spans by default than in float64 with all vectors re-orthogonalized.

    A rest close to 6e-8, the smallest one that counts, can be decided either way: so this is not checked, but counted.
    """
    graph, x, hops = case.graph, case.x, case.hops
    exact = factorize(graph, x.double(), hops, reorthogonalize=True).dimension
    found: list[int] = (factorize(graph, x, hops).dimension - exact).tolist()
    return found


def _small(fact: object) -> tuple[Tensor, Tensor, Tensor]:
    return fact.alpha, fact.beta, fact.norm  # type: ignore[attr-defined]


def _error_of_powers(matrix: np.ndarray, unit: Tensor, powers: Tensor, hops: int) -> float:
    worst, direct = 0.0, unit.numpy()
    for hop in range(hops + 1):
        worst = max(worst, float(np.linalg.norm(powers[hop].numpy() - direct, axis=0).max(initial=0)))
        if not np.isfinite(powers[hop].numpy()).all():
            return float("nan")
        direct = matrix @ direct
    return worst


def _wrong_frequencies(fact: object, matrix: np.ndarray, unit: Tensor, tolerance: float) -> list[str]:
    found, direct = [], unit.numpy()
    frequencies = fact.frequencies("homophily").double().numpy()  # type: ignore[attr-defined]
    for row in frequencies:
        energy = (direct**2).sum(axis=0)
        true = 0.5 - 0.5 * (direct * (matrix @ direct)).sum(axis=0) / np.where(energy > 0, energy, 1)
        # The further a vector has faded, the fewer of its digits are known.
        loud = energy > 1e-4
        allowed = 2 * tolerance / np.sqrt(np.where(loud, energy, 1))
        if not (np.abs(row - true) < allowed)[loud].all():
            found.append(f"frequency off by {np.abs(row - true)[loud].max():.1e}")
            break
        direct = matrix @ direct
    for name, parameters in (
        ("uni", {"tau": 0.5, "homophily": 0.3}),
        ("orthonormal", {}),
        ("heterophily", {"homophily": 0.7}),
    ):
        values = fact.frequencies(name, **parameters)  # type: ignore[attr-defined]
        if not bool(((values >= 0) & (values <= 1)).all()):
            found.append(f"frequencies of {name} are not in [0, 1]")
    return found


def propagation_matrix(graph: Graph) -> np.ndarray:
    """P in double precision from weights of any size: each row is divided by its largest weight first."""
    adjacency = graph.adjacency(torch.float64).to_dense().numpy()
    peak = adjacency.max(axis=1)
    peak[peak == 0] = 1
    root = np.sqrt(peak)
    share = np.sqrt(np.maximum((adjacency / peak[:, None]).sum(axis=1), 1e-300))
    return adjacency / root[:, None] / root / share[:, None] / share


def nodes_reached(graph: Graph, x: Tensor) -> Tensor:
    """How many nodes the components have on which each signal is not zero."""
    edges = graph.edges()[0].numpy()
    size = (graph.num_nodes, graph.num_nodes)
    adjacency = sp.csr_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=size)
    count, label = sp.csgraph.connected_components(adjacency, directed=False)
    touched = np.zeros((count, x.shape[1]), bool)
    np.logical_or.at(touched, label, x.numpy() != 0)
    return torch.from_numpy(np.bincount(label, minlength=count) @ touched)


def _norms(x: Tensor) -> Tensor:
    x = x.double()
    peak = torch.where(x.abs().amax(dim=0) > 0, x.abs().amax(dim=0), 1.0)
    return (x / peak).norm(dim=0).clamp(min=1.0) * peak


def _unit(x: Tensor) -> Tensor:
    return x.double() / _norms(x)


# Graphs


def _ring(random: Random) -> Edges:
    nodes = int(random.integers(3, 60))
    return nodes, np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])


def _path(random: Random) -> Edges:
    nodes = int(random.integers(2, 60))
    return nodes, np.stack([np.arange(nodes - 1), np.arange(1, nodes)])


def _star(random: Random) -> Edges:
    nodes = int(random.integers(2, 80))
    return nodes, np.stack([np.zeros(nodes - 1, int), np.arange(1, nodes)])


def _complete(random: Random) -> Edges:
    nodes = int(random.integers(2, 30))
    return nodes, np.stack(np.triu_indices(nodes, 1))


def _complete_bipartite(random: Random) -> Edges:
    left, right = random.integers(1, 20, 2)
    return int(left + right), np.stack([np.repeat(np.arange(left), right), left + np.tile(np.arange(right), left)])


def _grid(random: Random) -> Edges:
    return _from_networkx(nx.grid_2d_graph(*(int(side) for side in random.integers(2, 9, 2))))


def _tree(random: Random) -> Edges:
    nodes = int(random.integers(2, 80))
    return nodes, np.stack([[int(random.integers(0, child)) for child in range(1, nodes)], np.arange(1, nodes)])


def _sparse_random(random: Random) -> Edges:
    nodes = int(random.integers(2, 120))
    return nodes, random.integers(0, nodes, (2, nodes))


def _dense_random(random: Random) -> Edges:
    nodes = int(random.integers(2, 120))
    return nodes, random.integers(0, nodes, (2, 5 * nodes))


def _small_world(random: Random) -> Edges:
    return _from_networkx(nx.connected_watts_strogatz_graph(int(random.integers(6, 90)), 4, 0.2, seed=_seed(random)))


def _hubs(random: Random) -> Edges:
    return _from_networkx(nx.barabasi_albert_graph(int(random.integers(4, 120)), 2, seed=_seed(random)))


def _blocks(random: Random) -> Edges:
    sizes = [int(size) for size in random.integers(2, 25, 3)]
    inside, across = 0.5, float(random.choice([0.0, 0.02, 0.1]))
    chance = [[inside if i == j else across for j in range(3)] for i in range(3)]
    return _from_networkx(nx.stochastic_block_model(sizes, chance, seed=_seed(random)))


def _many_components(random: Random) -> Edges:
    parts, nodes = [], 0
    for _ in range(int(random.integers(2, 12))):
        size, edges = [_ring, _path, _complete, _sparse_random][random.integers(4)](random)
        if nodes + size > 150:
            break
        parts.append(edges + nodes)
        nodes += size
    return (nodes, np.concatenate(parts, axis=1)) if parts else _ring(random)


def _isolated(random: Random) -> Edges:
    nodes, edges = _sparse_random(random)
    return nodes + int(random.integers(1, 20)), edges


def _barbell(random: Random) -> Edges:
    return _from_networkx(nx.barbell_graph(int(random.integers(3, 14)), int(random.integers(0, 12))))


def _seed(random: Random) -> int:
    return int(random.integers(2**31))


def _from_networkx(graph: nx.Graph) -> Edges:
    graph = nx.convert_node_labels_to_integers(graph)
    return graph.number_of_nodes(), np.array(list(graph.edges()), dtype=int).reshape(-1, 2).T


KINDS: dict[str, Callable[[Random], Edges]] = {
    "ring": _ring,
    "path": _path,
    "star": _star,
    "complete": _complete,
    "complete bipartite": _complete_bipartite,
    "grid": _grid,
    "tree": _tree,
    "sparse random": _sparse_random,
    "dense random": _dense_random,
    "small world": _small_world,
    "hubs": _hubs,
    "blocks": _blocks,
    "many components": _many_components,
    "isolated nodes": _isolated,
    "barbell": _barbell,
}


# Weights


def _gaussian(random: Random, edges: np.ndarray) -> np.ndarray:
    """Of distances between points, one of which is far from all others."""
    points = random.standard_normal((int(edges.max(initial=0)) + 1, 3))
    points[0] += random.uniform(0, 25)
    return np.asarray(np.exp(-((points[edges[0]] - points[edges[1]]) ** 2).sum(axis=1)))


def _weak_links(random: Random, edges: np.ndarray) -> np.ndarray:
    return np.where(random.random(edges.shape[1]) < 0.2, 10.0 ** random.uniform(-7, -2), 1.0)


WEIGHTS: dict[str, Callable[[Random, np.ndarray], np.ndarray | None]] = {
    "no": lambda random, edges: None,
    "ordinary": lambda random, edges: random.uniform(0.1, 3.0, edges.shape[1]),
    "gaussian": _gaussian,
    "weakly linked": _weak_links,
    "tiny": lambda random, edges: random.uniform(0.1, 3.0, edges.shape[1]) * 10.0 ** random.uniform(-300, -30),
    "huge": lambda random, edges: random.uniform(0.1, 3.0, edges.shape[1]) * 10.0 ** random.uniform(30, 300),
    "any": lambda random, edges: 10.0 ** random.uniform(-300, 300, edges.shape[1]),
    "spread": lambda random, edges: 10.0 ** random.uniform(-12, 12, edges.shape[1]),
}


# Signals


def _normal(random: Random, nodes: int) -> np.ndarray:
    return random.standard_normal((nodes, int(random.integers(1, 6))))


def _scaled(random: Random, nodes: int) -> np.ndarray:
    return _normal(random, nodes) * 10.0 ** random.uniform(-30, 30)


def _mixed_columns(random: Random, nodes: int) -> np.ndarray:
    x = _normal(random, nodes)
    return np.asarray(x * 10.0 ** random.uniform(-30, 30, x.shape[1]))


def _one_hot(random: Random, nodes: int) -> np.ndarray:
    return np.eye(nodes)[:, random.integers(0, nodes, 4)]


def _binary(random: Random, nodes: int) -> np.ndarray:
    return (random.random((nodes, 5)) < random.choice([0.05, 0.3, 0.9])).astype(float)


def _mixed_rows(random: Random, nodes: int) -> np.ndarray:
    x = _normal(random, nodes)
    return np.asarray(x * 10.0 ** random.uniform(-12, 0, (nodes, 1)))


SIGNALS: dict[str, Callable[[Random, int], np.ndarray]] = {
    "normal": _normal,
    "scaled": _scaled,
    "mixed columns": _mixed_columns,
    "one-hot": _one_hot,
    "binary": _binary,
    "mixed rows": _mixed_rows,
    "constant": lambda random, nodes: np.full((nodes, 1), random.standard_normal()),
}
