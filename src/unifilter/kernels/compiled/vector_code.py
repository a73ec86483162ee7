"""LLVM instructions on vectors, which the intrinsics for lanes are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from unifilter.kernels.random_bits import FIRST_FACTOR, FIRST_SHIFT, SECOND_FACTOR, SECOND_SHIFT, SPREAD

_WORD = ir.IntType(32)
# What a cache line is to the processor that is asked for it: bytes from somewhere on.
LINE = ir.IntType(8)


def vector_pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Sequence[Any], vector: Any) -> Any:
    """To the vector that begins at a place (an index for each axis) of an array."""
    struct = context.make_array(array_type)(context, builder, array)
    pointer = cgutils.get_item_pointer(context, builder, array_type, struct, place, wraparound=False)
    return builder.bitcast(pointer, vector.as_pointer())


def load_vector(builder: Any, pointer: Any, array_type: Any) -> Any:
    """What is there; rows begin anywhere, so all that is known is that numbers are aligned."""
    return builder.load(pointer, align=array_type.dtype.bitwidth // 8)


def store_vector(builder: Any, value: Any, pointer: Any, array_type: Any) -> None:
    """Write it there."""
    builder.store(value, pointer, align=array_type.dtype.bitwidth // 8)


def prefetch_line(builder: Any, pointer: Any, write: bool = False) -> None:
    """Ask for the cache line there before it is read, or written."""
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), [LINE.as_pointer(), _WORD, _WORD, _WORD]), "llvm.prefetch.p0"
    )
    second_level_cache, data = _WORD(2), _WORD(1)
    builder.call(function, [pointer, _WORD(int(write)), second_level_cache, data])


def shuffled(builder: Any, left: Any, right: Any, places: Sequence[int]) -> Any:
    """Some of the elements of two vectors, counted through both; ``None`` for a second that is not needed."""
    right = ir.Constant(left.type, ir.Undefined) if right is None else right
    return builder.shuffle_vector(left, right, ir.Constant(ir.VectorType(_WORD, len(places)), list(places)))


def everywhere(builder: Any, scalar: Any, vector: Any) -> Any:
    """The same number in every place."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, _WORD(0))
    return shuffled(builder, first, None, [0] * vector.count)


def kept(builder: Any, number: Any, key: Any, first_column: Any, threshold: Any) -> Any:
    """``number`` where 32 random bits are below ``threshold``, else 0; the bits are a hash of the key and the column.

    Every column has a random number of its own, and the 64-bit key is a random line through which it goes: one
    multiplication an element, and any two decisions are nearly independent (Dietzfelbinger's multiply-shift hashing).
    """
    vector = ir.VectorType(_WORD, number.type.count)

    def same(scalar: Any) -> Any:
        return everywhere(builder, builder.trunc(scalar, _WORD), vector)

    def constant(integer: int) -> Any:
        return ir.Constant(vector, [integer] * vector.count)

    def scatter(x: Any, right: int, factor: int) -> Any:
        return builder.mul(builder.xor(x, builder.lshr(x, constant(right))), constant(factor))

    # The same for every row and hop, so the compiler computes it once.
    columns = builder.add(same(first_column), ir.Constant(vector, list(range(1, vector.count + 1))))
    of_column = scatter(builder.mul(columns, constant(SPREAD)), FIRST_SHIFT, FIRST_FACTOR)
    of_column = scatter(of_column, SECOND_SHIFT, SECOND_FACTOR)
    slope = builder.or_(same(key), constant(1))
    offset = same(builder.lshr(key, ir.IntType(64)(32)))
    below = builder.icmp_unsigned("<", builder.add(builder.mul(of_column, slope), offset), same(threshold))
    return builder.select(below, number, ir.Constant(number.type, None))
