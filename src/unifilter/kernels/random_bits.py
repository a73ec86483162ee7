"""Random decisions that can be made again: a hash of a seed and a position instead of a generator's next number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from unifilter.kernels.compiling import compile_inline

# Thirty-two random bits are always below this.
ALWAYS = np.uint64(2**32)
# A column's random number: its own times the first of these, then twice shifted, combined and multiplied.
SPREAD, FIRST_SHIFT, FIRST_FACTOR, SECOND_SHIFT, SECOND_FACTOR = 0x9E3779B1, 16, 0x7FEB352D, 15, 0x846CA68B


def draw_seed() -> int:
    """A seed from torch's generator, so that ``torch.manual_seed`` governs every mask."""
    return int(torch.randint(2**62, ()))


class Mask(NamedTuple):
    """Which elements are dropped, as kernels take it.

    Attributes:
        threshold: An element is kept where its 32 random bits are below this.
        scale: What is kept grows by this, so that the expectation stays.
        key: The seed.
    """

    threshold: np.uint64
    scale: np.floating
    key: np.uint64


def make_mask(p: float, seed: int, dtype: np.dtype) -> Mask:
    """A mask that drops the share ``p``."""
    return Mask(drop_threshold(p), dtype.type(1 / (1 - p)), np.uint64(seed))


def drop_threshold(p: float) -> np.uint64:
    """Of a mask that drops the share ``p``."""
    return np.uint64(round((1 - p) * int(ALWAYS)))


@compile_inline
def mixed_key(key, row, k):  # type: ignore[no-untyped-def]
    """Random bits for a row and a basis vector (the finaliser of the splitmix64 generator)."""
    mixed = key + np.uint64(row) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(k) * np.uint64(0xD1B54A32D192ED03)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compile_inline
def is_kept(key, column, threshold):  # type: ignore[no-untyped-def]
    """What :func:`unifilter.kernels.lanes.keep` decides, for one column."""
    low = np.uint64(0xFFFFFFFF)
    of_column = (np.uint64(column + 1) * np.uint64(SPREAD)) & low
    of_column = ((of_column ^ (of_column >> np.uint64(FIRST_SHIFT))) * np.uint64(FIRST_FACTOR)) & low
    of_column = ((of_column ^ (of_column >> np.uint64(SECOND_SHIFT))) * np.uint64(SECOND_FACTOR)) & low
    slope, offset = (key & low) | np.uint64(1), key >> np.uint64(32)
    return ((of_column * slope + offset) & low) < threshold
