"""The Lanczos factorization: where the compiled one does not run, in plain torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from unifilter._internal.columns import dense_columns
from unifilter._internal.scaling import power_of_two
from unifilter.kernels.backend import use_compiled
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.orthogonality import Orthogonality, take_out
from unifilter.kernels.small_rests import SMALL_REST, settle_dimensions

# Below this multiple of the machine precision nothing is told from rounding, however little of a vector propagates.
NOISE_FLOOR = 64
# Vectors [hops+1, n, d], alpha [hops+1, d], beta [hops, d], norm [d] and dimension [d].
Parts = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
Factor = Callable[[CompressedRows, Tensor, int, "bool | None", "int | None"], Parts]


def lanczos(
    rows: CompressedRows,
    x: Tensor,
    hops: int,
    reorthogonalize: bool | None,
    columns_per_block: int | None,
    signals: int | None = None,
) -> Parts:
    """Vectors and tridiagonal of each column of ``x [n, d]``, dense or CSC; see :func:`unifilter.factorize`.

    ``signals`` is the number of columns that those of ``x`` are a part of. It decides how columns are grouped, so that
    blocks give the same bits as all columns together.
    """
    factor: Factor = lanczos_torch
    if use_compiled(x):
        from unifilter.kernels.compiled.lanczos import lanczos_compiled

        factor = partial(lanczos_compiled, signals=signals or x.shape[1])
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
    orthogonality = Orthogonality(vectors, alpha, beta)
    # Near 1 no square over- or underflows.
    scale = power_of_two(x.abs().amax(dim=0))
    x = x / scale
    length = torch.linalg.vector_norm(x, dim=0)
    norm.copy_(length * scale)
    alive = length > 0
    dimension.add_(alive)
    vectors[0] = torch.where(alive, x / length, 0.0)
    previous = vectors[0]
    for hop in range(hops + 1):
        rest = propagate(vectors[hop])
        if hop > 0:
            rest -= beta[hop - 1] * previous
        alpha[hop] = (rest * vectors[hop]).sum(dim=0)
        if hop == hops:
            break
        rest -= alpha[hop] * vectors[hop]
        length = torch.linalg.vector_norm(rest, dim=0)
        # Pythagoras: the three parts of P v_k are orthogonal.
        propagated = (length**2 + alpha[hop] ** 2 + (beta[hop - 1] ** 2 if hop > 0 else 0)).sqrt()
        previous = vectors[hop]
        if reorthogonalize is not False:
            if reorthogonalize:
                take_out(vectors[: hop + 1], rest, alive.nonzero().flatten())
            else:
                previous = orthogonality.restore(hop, rest, length, alive)
            length = torch.linalg.vector_norm(rest, dim=0)
            small = (alive & (length < SMALL_REST)).nonzero().flatten()
            if small.numel():
                for _ in range(2):
                    take_out(vectors[: hop + 1], rest, small)
                length = torch.linalg.vector_norm(rest, dim=0)
                orthogonality.forget(hop, small)
        # The same rule, for the same reason, as in the fused kernel.
        alive = alive & (length > 4 * epsilon**0.5 * propagated) & (length > NOISE_FLOOR * epsilon)
        dimension.add_(alive)
        beta[hop] = torch.where(alive, length, 0.0)
        vectors[hop + 1] = torch.where(alive, rest / length, 0.0)
