"""Lanes of several widths, for rows too short for those of :mod:`unifilter.kernels.lanes`.

The width is part of a type, so that a kernel is compiled for each: it is passed as a tuple of that length, whose
content means nothing. Arithmetic and ``store`` are those of :mod:`unifilter.kernels.lanes`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from unifilter.kernels.lanes import BYTES, Lanes

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


@register_model(NarrowLanes)
class _NarrowLanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: NarrowLanes) -> None:
        number = manager.lookup(lanes.dtype).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(number, lanes.count))


@intrinsic
def load_narrow(typing_context: Any, array: Any, index: Any, width: Any) -> Any:
    """Consecutive elements of the last axis, from ``index`` (a tuple) on."""
    lanes = NarrowLanes(array.dtype, len(width))
    indices = types.UniTuple(types.intp, len(index))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        struct = context.make_array(array)(context, builder, arguments[0])
        place = cgutils.unpack_tuple(builder, arguments[1])
        pointer = cgutils.get_item_pointer(context, builder, array, struct, place, wraparound=False)
        return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=array.dtype.bitwidth // 8)

    return lanes(array, indices, width), generate


@intrinsic
def splat_narrow(typing_context: Any, number: Any, width: Any) -> Any:
    """The same number in every lane."""
    lanes = NarrowLanes(number, len(width))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        undefined, index = ir.Constant(vector, ir.Undefined), ir.IntType(32)
        first = builder.insert_element(undefined, arguments[0], index(0))
        return builder.shuffle_vector(
            first, undefined, ir.Constant(ir.VectorType(index, lanes.count), [0] * lanes.count)
        )

    return lanes(number, width), generate
