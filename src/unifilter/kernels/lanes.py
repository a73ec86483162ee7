"""Vectors of numbers that live in registers, for kernels compiled by numba.

numba leaves vectorisation to LLVM, which gives up, or guards every loop with overlap checks, as soon as a loop
touches more than a few arrays. A ``Lanes`` value is an LLVM vector: the kernels say what is to be done on 32
columns (16 in double precision) at once, sums stay in registers, and no check is needed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from unifilter.kernels.vector_code import (
    LINE,
    everywhere,
    kept,
    load_vector,
    prefetch_line,
    store_vector,
    vector_pointer,
)

# Two cache lines: enough independent sums to hide the latency of an addition, few enough registers not to spill.
BYTES = 128


class Lanes(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.count = BYTES // (dtype.bitwidth // 8)
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """A value of ``count`` numbers is one LLVM vector."""

    def __init__(self, manager: Any, lanes: Lanes) -> None:
        number = manager.lookup(lanes.dtype).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(number, lanes.count))


def _indices(index: Any) -> Any:
    return types.UniTuple(types.intp, len(index))


@intrinsic
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """Consecutive elements of the last axis, from ``index`` (a tuple) on."""
    lanes = Lanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = cgutils.unpack_tuple(builder, arguments[1])
        vector = context.get_value_type(lanes)
        return load_vector(builder, vector_pointer(context, builder, array, arguments[0], place, vector), array)

    return lanes(array, _indices(index)), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write ``value`` to consecutive elements of the last axis, from ``index`` (a tuple) on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = cgutils.unpack_tuple(builder, arguments[1])
        pointer = vector_pointer(context, builder, array, arguments[0], place, context.get_value_type(value))
        store_vector(builder, arguments[2], pointer, array)
        return context.get_dummy_value()

    return types.void(array, _indices(index), value), generate


def _define_prefetch(write: bool) -> Any:
    @intrinsic
    def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = cgutils.unpack_tuple(builder, arguments[1])
            prefetch_line(builder, vector_pointer(context, builder, array, arguments[0], place, LINE), write)
            return context.get_dummy_value()

        return types.void(array, _indices(index)), generate

    return prefetch


# Ask for the cache line at an index (a tuple) before it is read, or written.
prefetch_for_reading = _define_prefetch(write=False)
prefetch_for_writing = _define_prefetch(write=True)


@intrinsic
def splat(typing_context: Any, number: Any) -> Any:
    """The same number in every lane."""
    lanes = Lanes(number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return everywhere(builder, arguments[0], context.get_value_type(lanes))

    return lanes(number), generate


@intrinsic
def keep(typing_context: Any, value: Any, key: Any, column: Any, threshold: Any) -> Any:
    """``value`` where 32 random bits are below ``threshold``, else 0; the bits are a hash of the key and the column."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return kept(builder, *arguments)

    return value(value, types.uint64, types.int64, types.uint64), generate


def _define(python_operator: Callable[..., Any], instruction: str) -> None:
    @intrinsic
    def apply(typing_context: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            # "contract" lets a product and a sum become one instruction; nothing is reordered, so the result does
            # not depend on how columns are grouped.
            return getattr(builder, instruction)(*arguments, flags=("contract",))

        return left(left, right), generate

    # numba compares this signature with the lambda's, so it cannot carry annotations.
    @overload(python_operator)
    def implement(left, right):  # type: ignore[no-untyped-def]
        if isinstance(left, Lanes) and left == right:
            return lambda left, right: apply(left, right)
        return None


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
