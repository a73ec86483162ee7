from __future__ import annotations

import pytest
import torch

from unifilter._internal.scaling import power_of_two


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_of_the_smallest_and_the_largest_numbers(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    subnormal = torch.nextafter(torch.zeros((), dtype=dtype), torch.ones((), dtype=dtype)).item()
    sizes = torch.tensor([0.0, 1.0, 1.5, 0.99, info.max, info.tiny, subnormal], dtype=dtype)
    found = power_of_two(sizes)
    assert found[:4].tolist() == [1.0, 1.0, 1.0, 0.5]
    assert torch.isfinite(found).all()
    assert ((sizes[1:] / found[1:] >= 1) & (sizes[1:] / found[1:] < 2)).all()
    assert (torch.frexp(found).mantissa == 0.5).all()
