from __future__ import annotations

import pytest
import torch

from unifilter.kernels.combine import combine


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("nodes", "channels"), [(1, 1), (5, 40), (200, 33), (70, 64)])
@pytest.mark.parametrize("triangular", [False, True])
def test_combination_is_the_sum(dtype: torch.dtype, nodes: int, channels: int, triangular: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(4, nodes, channels, dtype=dtype, generator=generator)
    coefficients = torch.randn(6, 4, channels, dtype=dtype, generator=generator)
    if triangular:
        coefficients[:4] *= torch.ones(4, 4, dtype=dtype).tril()[:, :, None]
        coefficients[4] = 0
    expected = torch.einsum("kic,inc->knc", coefficients, vectors)
    assert torch.allclose(combine(vectors, coefficients), expected, atol=10 * torch.finfo(dtype).eps)
