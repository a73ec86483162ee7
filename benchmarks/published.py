"""UniBasis the way it was published: two COO products a hop, every vector n long, all of it again for each split."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from unifilter import Graph

# Below this a norm is replaced, so that no division is by zero.
_SMALLEST_NORM = 1e-8


def coo_propagation(graph: Graph) -> Tensor:
    """The normalized adjacency as a float32 COO tensor."""
    sources = torch.repeat_interleave(torch.arange(graph.num_nodes), graph.row_start.diff())
    targets = graph.neighbors.long()
    root = graph.root_degree(torch.float64)
    values = graph.adjacency(torch.float64).values() / (root[sources] * root[targets])
    shape = (graph.num_nodes, graph.num_nodes)
    return torch.sparse_coo_tensor(torch.stack([sources, targets]), values.float(), shape, check_invariants=False)


def einsum_inner(a: Tensor, b: Tensor) -> Tensor:
    """Column-wise inner products as they were published. On a CPU most of the time goes here: torch makes a batch of
    tiny matrix products of them, one per channel, each with strided rows."""
    product: Tensor = torch.einsum("nd,nd->d", a, b)
    return product


def plain_inner(a: Tensor, b: Tensor) -> Tensor:
    """The same products the way a careful user would write them."""
    return (a * b).sum(dim=0)


def published_basis(
    propagation: Tensor,
    x: Tensor,
    hops: int,
    tau: float,
    homophily: float,
    inner: Callable[[Tensor, Tensor], Tensor] = einsum_inner,
) -> Tensor:
    """The mixed basis ``[n, hops + 1, d]`` of one ``tau`` and one ``homophily``.

    As published, the root takes the previous *mixed* vector, and where its argument is negative it becomes 0.
    """
    cosine = math.cos((1 - homophily) * math.pi / 2)
    power = x
    before, latest = torch.zeros_like(x), x / _norm(x)
    total = latest.clone()
    mixed = [x]
    for k in range(1, hops + 1):
        power = torch.sparse.mm(propagation, power)
        following = torch.sparse.mm(propagation, latest)
        onto_latest, onto_before = inner(following, latest), inner(following, before)
        following -= onto_latest * latest + onto_before * before
        following /= _norm(following)
        before, latest = latest, following

        rotated = total / k
        root = torch.sqrt((inner(rotated, mixed[-1]) / cosine) ** 2 - ((k - 1) * cosine + 1) / k)
        root[torch.isnan(root)] = 0
        rotated += root * latest
        rotated /= _norm(rotated)
        total += rotated
        mixed.append(tau * power + (1 - tau) * rotated)
    return torch.stack(mixed, dim=1)


def _norm(a: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(a, dim=0)
    return norm.clamp(min=_SMALLEST_NORM)
