"""Basis vectors from Lanczos vectors, in one pass over the data for any basis."""

from __future__ import annotations

import torch
from torch import Tensor

from unifilter.kernels.backend import use_compiled


def combine(vectors: Tensor, coefficients: Tensor) -> Tensor:
    """``out[k] = sum_i coefficients[k, i] * vectors[i]``, per channel: ``[m, n, d]`` from ``[m, K+1, d]``."""
    coefficients = coefficients.to(vectors)
    if not use_compiled(vectors):
        # One at a time: the terms of all sums would be as large as the result, times the number of hops.
        return torch.stack([torch.einsum("id,ind->nd", row, vectors) for row in coefficients])
    from unifilter.kernels.compiled.combine import combine_compiled

    return combine_compiled(vectors, coefficients)
