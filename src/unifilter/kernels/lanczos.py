"""The Lanczos factorization: where the compiled one does not run, in plain torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unifilter._internal.columns import dense_columns
from unifilter._internal.scaling import power_of_two
from unifilter.kernels.backend import use_compiled
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.small_rests import SMALL_REST, settle_dimensions

# While a vector keeps less of every earlier one than half of the digits, the tridiagonal is as accurate as if nothing
# were kept. A tenth of that, because the estimate can be too low by a small factor.
LARGEST_LOSS = 0.1
# Below this multiple of the machine precision nothing is told from rounding, however little of a vector propagates.
NOISE_FLOOR = 64
# Vectors [hops+1, n, d], alpha [hops+1, d], beta [hops, d], norm [d] and dimension [d].
Parts = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def lanczos(
    rows: CompressedRows, x: Tensor, hops: int, reorthogonalize: bool | None, columns_per_block: int | None
) -> Parts:
    """Vectors and tridiagonal of each column of ``x [n, d]``, dense or CSC; see :func:`unifilter.factorize`."""
    if use_compiled(x):
        from unifilter.kernels.compiled.lanczos import lanczos_compiled as factor
    else:
        factor = lanczos_torch
    parts = factor(rows, x, hops, reorthogonalize, columns_per_block)
    settle_dimensions(rows, x, parts, lambda columns: factor(rows, columns, hops, reorthogonalize, None))
    return parts


def lanczos_torch(
    rows: CompressedRows, x: Tensor, hops: int, reorthogonalize: bool | None, columns_per_block: int | None
) -> Parts:
    """The same in plain torch, on any device."""
    nodes, channels = x.shape
    vectors = x.new_zeros((hops + 1, nodes, channels), layout=torch.strided)
    alpha, beta = vectors.new_zeros((hops + 1, channels)), vectors.new_zeros((hops, channels))
    norm, dimension = vectors.new_zeros(channels), torch.zeros(channels, dtype=torch.long, device=x.device)
    propagate = rows.torch_product(x.dtype)
    width = columns_per_block or channels
    for start in range(0, channels, width):
        block = slice(start, start + width)
        _lanczos_block(
            propagate,
            dense_columns(x, start, min(start + width, channels)),
            reorthogonalize,
            vectors[:, :, block],
            alpha[:, block],
            beta[:, block],
            norm[block],
            dimension[block],
        )
    return vectors, alpha, beta, norm, dimension


def _lanczos_block(
    propagate: Callable[[Tensor], Tensor],
    x: Tensor,
    reorthogonalize: bool | None,
    vectors: Tensor,
    alpha: Tensor,
    beta: Tensor,
    norm: Tensor,
    dimension: Tensor,
) -> None:
    hops = beta.shape[0]
    epsilon = torch.finfo(x.dtype).eps
    rounding = RoundingEstimate(hops, alpha, beta, epsilon)
    owed = torch.zeros_like(dimension, dtype=torch.bool)
    # Near 1 no square over- or underflows.
    scale = power_of_two(x.abs().amax(dim=0))
    x = x / scale
    length = torch.linalg.vector_norm(x, dim=0)
    norm.copy_(length * scale)
    alive = length > 0
    dimension.add_(alive)
    vectors[0] = torch.where(alive, x / length, 0.0)
    for hop in range(hops + 1):
        rest = propagate(vectors[hop])
        if hop > 0:
            rest -= beta[hop - 1] * vectors[hop - 1]
        alpha[hop] = (rest * vectors[hop]).sum(dim=0)
        if hop == hops:
            break
        rest -= alpha[hop] * vectors[hop]
        length = torch.linalg.vector_norm(rest, dim=0)
        # Pythagoras: the three parts of P v_k are orthogonal.
        propagated = (length**2 + alpha[hop] ** 2 + (beta[hop - 1] ** 2 if hop > 0 else 0)).sqrt()
        if reorthogonalize is not False:
            needed = rounding.step(hop, length)
            chosen = ((needed | owed | bool(reorthogonalize)) & alive).nonzero().flatten()
            if chosen.numel():
                _take_out(vectors[: hop + 1], rest, chosen)
                length = torch.linalg.vector_norm(rest, dim=0)
                rounding.forget(hop, chosen)
            # The recurrence brings back what the two vectors before kept: two in a row are cleaned.
            owed = needed & ~owed
            small = (alive & (length < SMALL_REST)).nonzero().flatten()
            if small.numel():
                for _ in range(2):
                    _take_out(vectors[: hop + 1], rest, small)
                length = torch.linalg.vector_norm(rest, dim=0)
                rounding.forget(hop, small)
        # The same rule, for the same reason, as in the fused kernel.
        alive = alive & (length > 4 * epsilon**0.5 * propagated) & (length > NOISE_FLOOR * epsilon)
        dimension.add_(alive)
        beta[hop] = torch.where(alive, length, 0.0)
        vectors[hop + 1] = torch.where(alive, rest / length, 0.0)


def _take_out(earlier: Tensor, block: Tensor, channels: Tensor) -> None:
    """Make some channels of a block orthogonal to earlier vectors."""
    vectors = earlier[:, :, channels]
    kept = torch.einsum("knc,nc->kc", vectors, block[:, channels])
    block[:, channels] -= torch.einsum("knc,kc->nc", vectors, kept)


class RoundingEstimate:
    """Simon's recurrence: what each new vector keeps of the vectors before it, from the tridiagonal alone."""

    def __init__(self, hops: int, alpha: Tensor, beta: Tensor, epsilon: float) -> None:
        self.alpha, self.beta, self.epsilon = alpha, beta, epsilon
        self.before, self.here = (alpha.new_zeros((hops + 2, alpha.shape[1])) for _ in range(2))
        self.here[0] = 1

    def step(self, hop: int, length: Tensor) -> Tensor:
        """Channels whose vector ``hop + 1`` must be made orthogonal again."""
        # A product with a matrix of norm 1 rounds by so much, however short the result is.
        noise = torch.tensor(self.epsilon).to(length)
        after = torch.zeros_like(self.here)
        kept = self.beta[:hop] * self.here[1 : hop + 1] + (self.alpha[:hop] - self.alpha[hop]) * self.here[:hop]
        if hop > 0:
            kept[1:] += self.beta[: hop - 1] * self.here[: hop - 1]
            kept -= self.beta[hop - 1] * self.before[:hop]
        kept += torch.where(kept >= 0, noise, -noise)
        after[:hop] = kept / length
        after[hop] = noise / length
        after[hop + 1] = 1
        worst = after[: hop + 1].abs().amax(dim=0)
        self.before, self.here = self.here, after
        needed: Tensor = (length <= noise) | (worst > LARGEST_LOSS * self.epsilon**0.5)
        return needed

    def forget(self, hop: int, channels: Tensor) -> None:
        self.here[: hop + 1, channels] = self.epsilon
