"""Vectors of numbers that live in registers, for kernels compiled by numba.

numba leaves vectorization to LLVM, which gives up, or guards every loop with overlap checks, as soon as a loop touches
more than a few arrays. A ``Lanes`` value is an LLVM vector: the kernels say what is to be done on many columns at once,
sums stay in registers, and no check is needed.

A value can hold the same columns of several rows, one after the other: an index then has a tuple of rows where it else
has one, and arithmetic broadcasts a value of one row to all of them.

The width of a value is part of its type. It is given as a number of bytes (a constant), as a tuple of that length
(an argument, for which a kernel is then compiled), or by another value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from unifilter.kernels.compiled.vector_code import (
    LINE,
    everywhere,
    kept,
    load_vector,
    prefetch_line,
    shuffled,
    store_vector,
    vector_pointer,
)

# Two cache lines: enough independent sums to hide the latency of an addition, few enough registers not to spill.
BYTES = 128
# How many neighbors ahead their rows are requested, where these are not in a core's own cache.
NEIGHBORS_AHEAD = 16
# Half a vector register of most processors: shorter ones gain nothing.
_SHORTEST = 16

Width = tuple[int, ...]


def fitting_width(channels: int, itemsize: int) -> Width:
    """The least width that a row of so many numbers fits into, at most ``BYTES``; the content means nothing."""
    # A power of two: vectors of another length are compiled to one number at a time.
    size = min(max(channels * itemsize, _SHORTEST), BYTES)
    return (0,) * ((1 << (size - 1).bit_length()) // itemsize)


class Lanes(types.Type):
    def __init__(self, dtype: Any, width: int, rows: int = 1) -> None:
        self.dtype, self.width, self.rows = dtype, width, rows
        super().__init__(name=f"Lanes({dtype} x {width} x {rows})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """All rows of a value are one LLVM vector."""

    def __init__(self, manager: Any, lanes: Lanes) -> None:
        number = manager.lookup(lanes.dtype).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(number, lanes.width * lanes.rows))


@intrinsic(prefer_literal=True)
def load(typing_context: Any, array: Any, index: Any, width: Any) -> Any:
    """Consecutive elements of the last axis, from ``index`` (a tuple) on."""
    lanes = Lanes(array.dtype, _width(array.dtype, width), _rows_in(index))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = _pointers(context, builder, array, index, arguments, _row_type(context, lanes))
        return _joined(builder, [load_vector(builder, pointer, array) for pointer in pointers])

    return lanes(array, index, width), generate


@intrinsic(prefer_literal=True)
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write ``value`` to consecutive elements of the last axis, from ``index`` (a tuple) on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = _pointers(context, builder, array, index, arguments, _row_type(context, value))
        for row, pointer in zip(_split(builder, arguments[2], value.rows), pointers, strict=True):
            store_vector(builder, row, pointer, array)
        return context.get_dummy_value()

    return types.void(array, index, value), generate


@intrinsic(prefer_literal=True)
def add_products(typing_context: Any, array: Any, index: Any, left: Any, right: Any) -> Any:
    """Add ``left * right``, row by row in their order, to consecutive elements from ``index`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (pointer,) = _pointers(context, builder, array, index, arguments, _row_type(context, left))
        total = load_vector(builder, pointer, array)
        for factors in zip(*(_split(builder, value, left.rows) for value in arguments[2:]), strict=True):
            total = builder.fadd(total, builder.fmul(*factors, flags=("contract",)), flags=("contract",))
        store_vector(builder, total, pointer, array)
        return context.get_dummy_value()

    return types.void(array, index, left, right), generate


def _define_prefetch(write: bool) -> Any:
    @intrinsic(prefer_literal=True)
    def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            for pointer in _pointers(context, builder, array, index, arguments, LINE):
                prefetch_line(builder, pointer, write)
            return context.get_dummy_value()

        return types.void(array, index), generate

    return prefetch


# Ask for the cache line at an index before it is read, or written.
prefetch_for_reading = _define_prefetch(write=False)
prefetch_for_writing = _define_prefetch(write=True)


@intrinsic(prefer_literal=True)
def splat(typing_context: Any, number: Any, width: Any) -> Any:
    """The same number in every lane, or a number for each row (a tuple) in all its lanes."""
    several = isinstance(number, types.BaseTuple)
    dtype = number.dtype if several else number
    lanes = Lanes(dtype, _width(dtype, width), len(number) if several else 1)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = cgutils.unpack_tuple(builder, arguments[0]) if several else arguments[:1]
        return _joined(builder, [everywhere(builder, one, _row_type(context, lanes)) for one in numbers])

    return lanes(number, width), generate


@intrinsic
def keep(typing_context: Any, value: Any, key: Any, column: Any, threshold: Any) -> Any:
    """``value`` where 32 random bits are below ``threshold``, else 0; the bits are a hash of the key and the column.

    Several rows have a key each (a tuple).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = _split(builder, arguments[0], value.rows)
        keys = cgutils.unpack_tuple(builder, arguments[1]) if isinstance(key, types.BaseTuple) else arguments[1:2]
        return _joined(builder, [kept(builder, row, one, *arguments[2:]) for row, one in zip(rows, keys, strict=True)])

    keys = types.UniTuple(types.uint64, len(key)) if isinstance(key, types.BaseTuple) else types.uint64
    return value(value, keys, types.int64, types.uint64), generate


def _define(python_operator: Callable[..., Any], instruction: str) -> None:
    @intrinsic
    def apply(typing_context: Any, left: Any, right: Any) -> Any:
        result = left if left.rows > 1 else right

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            sides = zip(arguments, (left, right), strict=True)
            operands = [_joined(builder, [side] * (result.rows // kind.rows)) for side, kind in sides]
            # "contract" lets a product and a sum become one instruction; nothing is reordered, so the result does
            # not depend on how columns are grouped.
            return getattr(builder, instruction)(*operands, flags=("contract",))

        return result(left, right), generate

    # numba compares this signature with the lambda's, so it cannot carry annotations.
    @overload(python_operator)
    def implement(left, right):  # type: ignore[no-untyped-def]
        if not (isinstance(left, Lanes) and isinstance(right, Lanes)):
            return None
        if (left.dtype, left.width) == (right.dtype, right.width) and (
            left.rows == right.rows or 1 in (left.rows, right.rows)
        ):
            return lambda left, right: apply(left, right)
        return None


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")


@overload(len)
def _implement_len(value):  # type: ignore[no-untyped-def]
    if isinstance(value, Lanes):
        width = value.width
        return lambda value: width
    return None


def _width(dtype: Any, given: Any) -> int:
    if isinstance(given, Lanes):
        return given.width
    if isinstance(given, types.IntegerLiteral):
        return int(given.literal_value) * 8 // int(dtype.bitwidth)
    return len(given)


def _rows_in(index: Any) -> int:
    return max([len(part) for part in index.types if isinstance(part, types.BaseTuple)], default=1)


def _row_type(context: Any, lanes: Lanes) -> Any:
    return ir.VectorType(context.get_value_type(lanes.dtype), lanes.width)


def _pointers(context: Any, builder: Any, array: Any, index: Any, arguments: Any, vector: Any) -> list[Any]:
    """To the vector at an index, for each of its rows; the first arguments are the array and the index."""
    found = []
    for row in range(_rows_in(index)):
        place = []
        for part, kind in zip(cgutils.unpack_tuple(builder, arguments[1]), index.types, strict=True):
            if isinstance(kind, types.BaseTuple):
                part, kind = builder.extract_value(part, row), kind.types[row]
            place.append(context.cast(builder, part, kind, types.intp))
        found.append(vector_pointer(context, builder, array, arguments[0], place, vector))
    return found


def _joined(builder: Any, rows: list[Any]) -> Any:
    """One vector of all rows; two and two, since only vectors of one length can be joined."""
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    left, right = _joined(builder, rows[:half]), _joined(builder, rows[half:])
    return shuffled(builder, left, right, range(2 * left.type.count))


def _split(builder: Any, value: Any, rows: int) -> list[Any]:
    width = value.type.count // rows
    if rows == 1:
        return [value]
    return [shuffled(builder, value, None, range(row * width, (row + 1) * width)) for row in range(rows)]
