from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from unifilter.kernels import few_channels as module
from unifilter.kernels.few_channels import from_spectrum, to_spectrum

FLOATS = [torch.float32, torch.float64]
# Rows and columns that fill four rows and whole vectors, and that do not.
SHAPES = [(1, 16), (4, 16), (7, 33), (50, 9), (35, 600), (64, 1040), (0, 20)]


def inputs(shape: tuple[int, int], channels: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    rows, columns = shape
    sizes = (shape, (rows, channels), (channels, columns))
    vectors, x, spectral = (torch.randn(size, dtype=dtype, generator=generator) for size in sizes)
    return vectors, x, spectral


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", [1, 3, 8, 40])
@pytest.mark.parametrize("shape", SHAPES)
def test_both_are_the_plain_products(shape: tuple[int, int], channels: int, dtype: torch.dtype) -> None:
    vectors, x, spectral = inputs(shape, channels, dtype)
    tolerance = {"rtol": 0.0, "atol": 100 * torch.finfo(dtype).eps * max(shape) ** 0.5}
    exact = vectors.double()
    torch.testing.assert_close(to_spectrum(vectors, x), (x.double().T @ exact).to(dtype), **tolerance)
    torch.testing.assert_close(from_spectrum(vectors, spectral), (exact @ spectral.double().T).to(dtype), **tolerance)


@pytest.mark.parametrize("function", [to_spectrum, from_spectrum])
@pytest.mark.parametrize("channels", [2, 20])
def test_slopes_against_finite_differences(function: Callable[[Tensor, Tensor], Tensor], channels: int) -> None:
    vectors, x, spectral = inputs((9, 21), channels)
    argument = (x if function is to_spectrum else spectral).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: function(vectors, y), argument)
    assert torch.autograd.gradgradcheck(lambda y: function(vectors, y).square(), argument)


def test_a_slope_in_another_layout_counts_the_same() -> None:
    vectors, x, spectral = inputs((37, 50), 3)
    slope = torch.randn(3, 37, dtype=torch.float64).T
    (found,) = torch.autograd.grad(from_spectrum(vectors, spectral.requires_grad_()), spectral, slope)
    torch.testing.assert_close(found, slope.T @ vectors)
    (found,) = torch.autograd.grad(to_spectrum(vectors, x.requires_grad_()), x, spectral.detach().T.contiguous().T)
    torch.testing.assert_close(found, vectors @ spectral.detach().T)


def test_the_result_does_not_depend_on_the_threads() -> None:
    vectors, x, spectral = inputs((4000, 2000), 4, torch.float32)  # a part takes longer than starting a thread
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append((to_spectrum(vectors, x), from_spectrum(vectors, spectral)))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_what_the_kernels_do_not_suit_is_the_library_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a kernel was called")

    monkeypatch.setattr(module, "_add_products", refuse)
    monkeypatch.setattr(module, "_dot_products", refuse)
    for vectors, x, spectral in (
        inputs((20, 30), 13),  # many channels
        inputs((20, 5), 3),  # shorter than a vector
        (inputs((30, 20), 3)[0].T, *inputs((20, 30), 3)[1:]),  # another layout
        inputs((20, 70), 3, torch.bfloat16),
    ):
        torch.testing.assert_close(to_spectrum(vectors, x), x.T @ vectors)
        torch.testing.assert_close(from_spectrum(vectors, spectral), vectors @ spectral.T)
    vectors, x, spectral = inputs((20, 30), 3)
    with pytest.raises(AssertionError, match="a kernel was called"):
        to_spectrum(vectors, x)
    with pytest.raises(AssertionError, match="a kernel was called"):
        from_spectrum(vectors, spectral)
