from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from unifilter.kernels.lane_functions import exponential, larger, largest, total
from unifilter.kernels.lanes import BYTES, load, store

FLOATS = [np.float32, np.float64]


@njit
def exponentials(source, result):
    lanes = BYTES // source.itemsize
    for start in range(0, len(source), lanes):
        store(result, (start,), exponential(load(source, (start,))))


@njit
def larger_of(left, right, result):
    store(result, (0,), larger(load(left, (0,)), load(right, (0,))))


@njit
def largest_and_total(source):
    return largest(load(source, (0,))), total(load(source, (0,)))


def exponential_of(x: np.ndarray) -> np.ndarray:
    """The length must be a multiple of the lanes."""
    result = np.empty_like(x)
    exponentials(x, result)
    return result


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_exponential_is_right_to_two_units_in_the_last_place(dtype: type[np.floating]) -> None:
    least = {np.float32: -87.2, np.float64: -707.9}[dtype]
    x = np.concatenate([np.linspace(least, 0, 2**16), -np.logspace(-12, 1, 2**16)]).astype(dtype)
    expected = np.exp(x.astype(np.longdouble))
    assert np.abs((exponential_of(x) - expected) / expected).max() < 2 * np.finfo(dtype).eps
    assert exponential_of(np.zeros(32, dtype)).tolist() == [1.0] * 32


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_is_too_small_becomes_the_smallest_and_no_number_stays_none(dtype: type[np.floating]) -> None:
    x = np.zeros(32, dtype)
    x[:4] = -1e4, -np.inf, np.nan, -1e30
    found = exponential_of(x)
    tiny = np.finfo(dtype).tiny
    assert np.all((found[[0, 1, 3]] > tiny) & (found[[0, 1, 3]] < 1e10 * tiny))
    assert np.isnan(found[2])


@pytest.mark.parametrize("dtype", FLOATS)
def test_maximum_and_sum(dtype: type[np.floating]) -> None:
    lanes = BYTES // np.dtype(dtype).itemsize
    left, right = np.random.default_rng(0).standard_normal((2, lanes)).astype(dtype)
    result = np.empty_like(left)
    larger_of(left, right, result)
    assert np.array_equal(result, np.maximum(left, right))
    for place in range(lanes):
        left[place] = 10 + place
        most, sum_of_all = largest_and_total(left)
        assert most == left.max()
        assert sum_of_all == pytest.approx(left.sum(dtype=np.float64), rel=1e-6)
