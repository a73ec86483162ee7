"""The even basis: even powers of the propagation matrix."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from unifilter.bases.base import Multiply, PolynomialBasis


class Even(PolynomialBasis):
    r"""The basis :math:`x, \mathbf{P}^2 x, \mathbf{P}^4 x, \dots, \mathbf{P}^{2\lfloor K/2 \rfloor} x` of EvenNet.

    From Lei et al., "EvenNet: Ignoring Odd-Hop Neighbors Improves Robustness of Graph Neural Networks" (NeurIPS 2022).
    Even powers treat a frequency :math:`\lambda` and its mirror image :math:`2 - \lambda` alike, so a filter has the
    same effect on a graph where neighbors agree as on one where they differ.

    The odd powers are left out, not set to zero: K hops give :math:`\lfloor K/2 \rfloor + 1` vectors.

    Example:
        >>> import torch
        >>> from unifilter.bases import Even
        >>> Even().evaluate(torch.tensor([0.0, 0.5, 1.5]), hops=5)
        tensor([[1.0000, 1.0000, 1.0000],
                [1.0000, 0.2500, 0.2500],
                [1.0000, 0.0625, 0.0625]])
    """

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        yield start
        for _ in range(hops // 2):
            start = multiply(multiply(start))
            yield start
