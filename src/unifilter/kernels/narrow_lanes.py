"""Lanes of several widths, for rows too short for those of :mod:`unifilter.kernels.lanes`.

The width is part of a type, so that a kernel is compiled for each: it is passed as a tuple of that length, whose
content means nothing. Arithmetic and ``store`` are those of :mod:`unifilter.kernels.lanes`.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_model

from unifilter.kernels.lanes import BYTES, Lanes, LanesModel
from unifilter.kernels.vector_code import everywhere, load_vector, vector_pointer

# Half a vector register of most processors: shorter ones gain nothing.
_SHORTEST = 16

Width = tuple[int, ...]


def fitting_width(channels: int, itemsize: int) -> Width:
    """The least width that a row of so many numbers fits into; at most that of :mod:`unifilter.kernels.lanes`."""
    # A power of two: vectors of another length are compiled to one number at a time.
    size = min(max(channels * itemsize, _SHORTEST), BYTES)
    return (0,) * ((1 << (size - 1).bit_length()) // itemsize)


class NarrowLanes(Lanes):
    def __init__(self, dtype: Any, count: int) -> None:
        super().__init__(dtype)
        self.count = count
        self.name = f"NarrowLanes({dtype} x {count})"


register_model(NarrowLanes)(LanesModel)


@intrinsic
def load_narrow(typing_context: Any, array: Any, index: Any, width: Any) -> Any:
    """Consecutive elements of the last axis, from ``index`` (a tuple) on."""
    lanes = NarrowLanes(array.dtype, len(width))
    indices = types.UniTuple(types.intp, len(index))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = cgutils.unpack_tuple(builder, arguments[1])
        vector = context.get_value_type(lanes)
        return load_vector(builder, vector_pointer(context, builder, array, arguments[0], place, vector), array)

    return lanes(array, indices, width), generate


@intrinsic
def splat_narrow(typing_context: Any, number: Any, width: Any) -> Any:
    """The same number in every lane."""
    lanes = NarrowLanes(number, len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return everywhere(builder, arguments[0], context.get_value_type(lanes))

    return lanes(number, width), generate
