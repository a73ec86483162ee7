"""The homophily basis: powers of the propagation matrix."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from unifilter.bases.base import Multiply, PolynomialBasis


class Monomial(PolynomialBasis):
    r"""The homophily basis :math:`x, \mathbf{P}x, \dots, \mathbf{P}^K x` (section 4.1 of the paper).

    Its vectors converge in direction as k grows (Theorem 4.1), which suits graphs whose neighbors are alike.

    SGC, SIGN and GPR-GNN use the same powers, some of them with a self-loop at every node. Self-loops are a property of
    the graph: on ``Graph.from_edges(..., self_loops="add")`` this is :math:`\tilde{\mathbf{P}}^k x`, where
    :math:`\tilde{\mathbf{P}}` is the normalized :math:`\mathbf{A} + \mathbf{I}`.

    Example:
        >>> import torch
        >>> from unifilter.bases import Monomial
        >>> Monomial().evaluate(torch.tensor([0.0, 0.5, 2.0]), hops=2)
        tensor([[ 1.0000,  1.0000,  1.0000],
                [ 1.0000,  0.5000, -1.0000],
                [ 1.0000,  0.2500,  1.0000]])
    """

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        yield start
        for _ in range(hops):
            start = multiply(start)
            yield start
