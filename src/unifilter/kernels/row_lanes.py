"""Lanes of several rows, for kernels in which all rows meet the same small matrix: one load of it serves them all.

A value holds the same columns of ``ROWS`` rows. Arithmetic is that of :mod:`unifilter.kernels.lanes`. Whatever there is
one of for each row is a tuple: their indices, for example, which :func:`rows_from` makes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_model

from unifilter.kernels.compiling import compile_inline
from unifilter.kernels.lanes import Lanes, LanesModel
from unifilter.kernels.vector_code import (
    LINE,
    everywhere,
    kept,
    load_vector,
    prefetch_line,
    shuffled,
    store_vector,
    sum_of,
    vector_pointer,
)

# A cache line of each: the four are half of the vector registers of most processors. With more the sums would not stay
# in registers, with less the matrix is loaded more often.
ROWS = 4
ROW_BYTES = 64


class RowLanes(Lanes):
    def __init__(self, dtype: Any) -> None:
        super().__init__(dtype)
        self.width = ROW_BYTES // (dtype.bitwidth // 8)
        self.count = ROWS * self.width
        self.name = f"RowLanes({dtype})"


register_model(RowLanes)(LanesModel)


@compile_inline
def rows_from(first, count):  # type: ignore[no-untyped-def]
    """The rows from ``first`` on; past the last of ``count`` it is the last again."""
    last = count - 1
    return min(first, last), min(first + 1, last), min(first + 2, last), min(first + 3, last)


@compile_inline
def at_rows(array, rows):  # type: ignore[no-untyped-def]
    """The elements of an array at some rows."""
    return array[rows[0]], array[rows[1]], array[rows[2]], array[rows[3]]


@compile_inline
def same(number):  # type: ignore[no-untyped-def]
    """One number for every row."""
    return number, number, number, number


@intrinsic
def load_rows(typing_context: Any, array: Any, before: Any, rows: Any, column: Any) -> Any:
    """Columns from ``column`` on of ``array[*before, row]``, for every row."""
    lanes = RowLanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = _row_pointers(context, builder, array, arguments, _row_vector(context, lanes))
        return _joined(builder, [load_vector(builder, pointer, array) for pointer in pointers])

    return lanes(array, _indices(before), _indices(rows), types.intp), generate


@intrinsic
def prefetch_rows(typing_context: Any, array: Any, before: Any, rows: Any, column: Any) -> Any:
    """Ask for what :func:`load_rows` will read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for pointer in _row_pointers(context, builder, array, arguments, LINE):
            prefetch_line(builder, pointer)
        return context.get_dummy_value()

    return types.void(array, _indices(before), _indices(rows), types.intp), generate


@intrinsic
def store_rows(typing_context: Any, array: Any, before: Any, rows: Any, column: Any, value: Any) -> Any:
    """Write columns from ``column`` on of ``array[*before, row]``, for every row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = _row_pointers(context, builder, array, arguments[:4], _row_vector(context, value))
        for row, pointer in zip(_rows_of(builder, arguments[4]), pointers, strict=True):
            store_vector(builder, row, pointer, array)
        return context.get_dummy_value()

    return types.void(array, _indices(before), _indices(rows), types.intp, value), generate


@intrinsic
def load_for_rows(typing_context: Any, array: Any, index: Any) -> Any:
    """Consecutive elements of the last axis, from ``index`` (a tuple) on, the same for every row."""
    lanes = RowLanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, array, arguments[0], arguments[1], lanes)
        return _joined(builder, [load_vector(builder, pointer, array)] * ROWS)

    return lanes(array, _indices(index)), generate


@intrinsic
def splat_rows(typing_context: Any, numbers: Any) -> Any:
    """A number for each row (a tuple), in all its lanes."""
    lanes = RowLanes(numbers.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = _row_vector(context, lanes)
        unpacked = cgutils.unpack_tuple(builder, arguments[0])
        return _joined(builder, [everywhere(builder, number, vector) for number in unpacked])

    return lanes(numbers), generate


@intrinsic
def keep_rows(typing_context: Any, value: Any, keys: Any, column: Any, threshold: Any) -> Any:
    """As :func:`unifilter.kernels.lanes.keep`, with a key for each row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, unpacked = _rows_of(builder, arguments[0]), cgutils.unpack_tuple(builder, arguments[1])
        return _joined(
            builder, [kept(builder, row, key, *arguments[2:]) for row, key in zip(numbers, unpacked, strict=True)]
        )

    return value(value, types.UniTuple(types.uint64, ROWS), types.int64, types.uint64), generate


@intrinsic
def add_rows(typing_context: Any, array: Any, index: Any, left: Any, right: Any) -> Any:
    """Add ``left * right``, row by row in their order, to consecutive elements from ``index`` (a tuple) on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, array, arguments[0], arguments[1], left)
        total = load_vector(builder, pointer, array)
        for factors in zip(*(_rows_of(builder, value) for value in arguments[2:]), strict=True):
            total = builder.fadd(total, builder.fmul(*factors, flags=("contract",)), flags=("contract",))
        store_vector(builder, total, pointer, array)
        return context.get_dummy_value()

    return types.void(array, _indices(index), left, right), generate


@intrinsic
def row_totals(typing_context: Any, value: Any) -> Any:
    """The sum of each row's lanes, as a tuple."""
    totals = types.UniTuple(value.dtype, ROWS)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.pack_array(builder, [sum_of(builder, row) for row in _rows_of(builder, arguments[0])])

    return totals(value), generate


def _indices(index: Any) -> Any:
    return types.UniTuple(types.intp, len(index)) if len(index) else index


def _row_vector(context: Any, lanes: RowLanes) -> Any:
    return ir.VectorType(context.get_value_type(lanes.dtype), lanes.width)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, lanes: RowLanes) -> Any:
    place = cgutils.unpack_tuple(builder, index)
    return vector_pointer(context, builder, array_type, array, place, _row_vector(context, lanes))


def _row_pointers(context: Any, builder: Any, array_type: Any, arguments: Any, vector: Any) -> list[Any]:
    array, before, rows, column = arguments
    first = cgutils.unpack_tuple(builder, before)
    places = [[*first, row, column] for row in cgutils.unpack_tuple(builder, rows)]
    return [vector_pointer(context, builder, array_type, array, place, vector) for place in places]


def _joined(builder: Any, rows: list[Any]) -> Any:
    """One vector of all rows; two and two, since only vectors of one length can be joined."""
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    left, right = _joined(builder, rows[:half]), _joined(builder, rows[half:])
    return shuffled(builder, left, right, range(2 * left.type.count))


def _rows_of(builder: Any, value: Any) -> list[Any]:
    width = value.type.count // ROWS
    return [shuffled(builder, value, None, range(row * width, (row + 1) * width)) for row in range(ROWS)]
