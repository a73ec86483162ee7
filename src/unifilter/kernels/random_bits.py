"""Random decisions that can be made again: a hash of a seed and a position instead of a generator's next number.

Compiled kernels and plain torch compute the same hash, so that the same seed drops the same elements on every device.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# Thirty-two random bits are always below this.
ALWAYS = 2**32
# Steps from row to row and from basis vector to basis vector, and the factors of splitmix64's finalizer.
ROW_STEP, VECTOR_STEP = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
FINALIZER = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT = 31
# A column's random number: its own times the first of these, then twice shifted, combined and multiplied.
SPREAD, FIRST_SHIFT, FIRST_FACTOR, SECOND_SHIFT, SECOND_FACTOR = 0x9E3779B1, 16, 0x7FEB352D, 15, 0x846CA68B

_LOW = 0xFFFFFFFF


def draw_seed() -> int:
    """A seed from torch's generator, so that ``torch.manual_seed`` governs every mask."""
    # A compiled model would have the same seed at every call, so there torch draws the masks: see `dropped`.
    return 0 if torch.compiler.is_compiling() else int(torch.randint(2**62, ()))


def drop_threshold(p: float) -> int:
    """An element is kept where its 32 random bits are below this, if the share ``p`` is dropped."""
    return round((1 - p) * ALWAYS)


def dropped(x: Tensor, p: float, seed: int, first_row: int = 0) -> Tensor:
    """Dropout on ``[rows, columns]``, or ``[vectors, rows, columns]``, in plain torch; differentiable.

    In a model that torch compiles the mask is of torch's own generator, and new at every call.
    """
    if torch.compiler.is_compiling():
        return functional.dropout(x, p)
    rows = torch.arange(first_row, first_row + x.shape[-2], device=x.device)
    keys = row_keys(seed, rows)
    if x.ndim == 3:
        keys = row_keys(seed, rows, torch.arange(len(x), device=x.device)[:, None])
    kept = are_kept(keys[..., None], torch.arange(x.shape[-1], device=x.device), p)
    return torch.where(kept, x, 0.0) * (1 / (1 - p))


def row_keys(seed: int, rows: Tensor, vectors: Tensor | int = 0) -> Tensor:
    """64 random bits for each row of each basis vector, int64."""
    mixed = seed + rows * _signed(ROW_STEP) + vectors * _signed(VECTOR_STEP)
    for shift, factor in FINALIZER:
        mixed = (mixed ^ _shifted(mixed, shift)) * _signed(factor)
    return mixed ^ _shifted(mixed, LAST_SHIFT)


def are_kept(keys: Tensor, columns: Tensor, p: float) -> Tensor:
    """Which elements are kept, bool; the keys of their rows and their columns are broadcast against each other."""
    of_column = ((columns + 1) * SPREAD) & _LOW
    of_column = ((of_column ^ (of_column >> FIRST_SHIFT)) * FIRST_FACTOR) & _LOW
    of_column = ((of_column ^ (of_column >> SECOND_SHIFT)) * SECOND_FACTOR) & _LOW
    # All that is as large as the mask has 32 bits. They have a sign: half the range is taken off both sides.
    half = ALWAYS // 2
    slope, offset = (keys | 1).to(torch.int32), ((keys >> 32) + half).to(torch.int32)
    return of_column.to(torch.int32) * slope + offset < drop_threshold(p) - half


def _signed(number: int) -> int:
    """The 64 bits of a number as torch's integers have them, with a sign."""
    return number - 2**64 if number >= 2**63 else number


def _shifted(bits: Tensor, right: int) -> Tensor:
    """Shifted to the right with zeros from the left, whatever the sign."""
    return (bits >> right) & ((1 << (64 - right)) - 1)
