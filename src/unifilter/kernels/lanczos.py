"""The Lanczos factorization: where the compiled one does not run, in plain torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unifilter._internal.columns import dense_columns
from unifilter.kernels.backend import use_compiled
from unifilter.kernels.compressed_rows import CompressedRows

# Vectors [hops+1, n, d], alpha [hops+1, d], beta [hops, d], norm [d] and dimension [d].
Parts = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def lanczos(
    rows: CompressedRows, x: Tensor, hops: int, reorthogonalize: bool | None, columns_per_block: int | None
) -> Parts:
    """Vectors and tridiagonal of each column of ``x [n, d]``, dense or CSC; see :func:`unifilter.factorize`."""
    if not use_compiled(x):
        return lanczos_torch(rows, x, hops, reorthogonalize, columns_per_block)
    from unifilter.kernels.compiled.lanczos import lanczos_compiled

    return lanczos_compiled(rows, x, hops, reorthogonalize, columns_per_block)


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
    norm.copy_(torch.linalg.vector_norm(x, dim=0))
    alive = norm > 0
    dimension.add_(alive)
    vectors[0] = torch.where(alive, x / norm, 0.0)
    for hop in range(hops + 1):
        rest = propagate(vectors[hop])
        propagated = torch.linalg.vector_norm(rest, dim=0)
        if hop > 0:
            rest -= beta[hop - 1] * vectors[hop - 1]
        alpha[hop] = (rest * vectors[hop]).sum(dim=0)
        if hop == hops:
            break
        rest -= alpha[hop] * vectors[hop]
        length = torch.linalg.vector_norm(rest, dim=0)
        if reorthogonalize is not False:
            needed = rounding.step(hop, length, propagated)
            chosen = ((needed | bool(reorthogonalize)) & alive).nonzero().flatten()
            if chosen.numel():
                earlier = vectors[: hop + 1, :, chosen]
                kept = torch.einsum("knc,nc->kc", earlier, rest[:, chosen])
                rest[:, chosen] -= torch.einsum("knc,kc->nc", earlier, kept)
                length = torch.linalg.vector_norm(rest, dim=0)
                rounding.forget(hop, chosen)
        # The same rule, for the same reason, as in the fused kernel.
        alive = alive & (length > 4 * epsilon**0.5 * propagated)
        dimension.add_(alive)
        beta[hop] = torch.where(alive, length, 0.0)
        vectors[hop + 1] = torch.where(alive, rest / length, 0.0)


class RoundingEstimate:
    """Simon's recurrence: what each new vector keeps of the vectors before it, from the tridiagonal alone."""

    def __init__(self, hops: int, alpha: Tensor, beta: Tensor, epsilon: float) -> None:
        self.alpha, self.beta, self.epsilon = alpha, beta, epsilon
        self.before, self.here = (alpha.new_zeros((hops + 2, alpha.shape[1])) for _ in range(2))
        self.here[0] = 1

    def step(self, hop: int, length: Tensor, propagated: Tensor) -> Tensor:
        """Channels whose vector ``hop + 1`` must be made orthogonal again."""
        noise = self.epsilon * propagated
        after = torch.zeros_like(self.here)
        kept = self.beta[:hop] * self.here[1 : hop + 1] + (self.alpha[:hop] - self.alpha[hop]) * self.here[:hop]
        if hop > 0:
            kept[1:] += self.beta[: hop - 1] * self.here[: hop - 1]
            kept -= self.beta[hop - 1] * self.before[:hop]
        kept += torch.where(kept >= 0, noise, -noise)
        after[:hop] = kept / length
        after[hop] = noise / length
        after[hop + 1] = 1
        need: Tensor = (length <= noise) | (after[: hop + 1].abs().amax(dim=0) > 0.1 * self.epsilon**0.5)
        self.before, self.here = self.here, after
        return need

    def forget(self, hop: int, channels: Tensor) -> None:
        self.here[: hop + 1, channels] = self.epsilon
