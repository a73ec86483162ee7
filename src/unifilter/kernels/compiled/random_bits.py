"""The decisions of :mod:`unifilter.kernels.random_bits` for compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unifilter.kernels import random_bits as constants
from unifilter.kernels.compiled.compiling import compile_inline

# Thirty-two random bits are always below this.
ALWAYS = np.uint64(constants.ALWAYS)
_ROW_STEP, _VECTOR_STEP = np.uint64(constants.ROW_STEP), np.uint64(constants.VECTOR_STEP)
(_SHIFT_1, _FACTOR_1), (_SHIFT_2, _FACTOR_2) = ((np.uint64(a), np.uint64(b)) for a, b in constants.FINALIZER)
_SHIFT_3, _LOW = np.uint64(constants.LAST_SHIFT), np.uint64(0xFFFFFFFF)


class Mask(NamedTuple):
    """Which elements are dropped.

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
    return Mask(np.uint64(constants.drop_threshold(p)), dtype.type(1 / (1 - p)), np.uint64(seed))


@compile_inline
def mixed_key(key, row, k):  # type: ignore[no-untyped-def]
    """Random bits for a row and a basis vector."""
    mixed = key + np.uint64(row) * _ROW_STEP + np.uint64(k) * _VECTOR_STEP
    mixed = (mixed ^ (mixed >> _SHIFT_1)) * _FACTOR_1
    mixed = (mixed ^ (mixed >> _SHIFT_2)) * _FACTOR_2
    return mixed ^ (mixed >> _SHIFT_3)


@compile_inline
def is_kept(key, column, threshold):  # type: ignore[no-untyped-def]
    """What :func:`unifilter.kernels.compiled.lanes.keep` decides, for one column."""
    bits = (np.uint64(column + 1) * np.uint64(constants.SPREAD)) & _LOW
    bits = ((bits ^ (bits >> np.uint64(constants.FIRST_SHIFT))) * np.uint64(constants.FIRST_FACTOR)) & _LOW
    bits = ((bits ^ (bits >> np.uint64(constants.SECOND_SHIFT))) * np.uint64(constants.SECOND_FACTOR)) & _LOW
    slope, offset = (key & _LOW) | np.uint64(1), key >> np.uint64(32)
    return ((bits * slope + offset) & _LOW) < threshold
