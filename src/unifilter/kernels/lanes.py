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

# Two cache lines: enough independent sums to hide the latency of an addition, few enough registers not to spill.
BYTES = 128


class Lanes(types.Type):
    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.count = BYTES // (dtype.bitwidth // 8)
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        number = manager.lookup(lanes.dtype).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(number, lanes.count))


def _indices(index: Any) -> Any:
    return types.UniTuple(types.intp, len(index))


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    struct = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(
        context, builder, array_type, struct, cgutils.unpack_tuple(builder, index), wraparound=False
    )


@intrinsic
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """Consecutive elements of the last axis, from ``index`` (a tuple) on."""
    lanes = Lanes(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        pointer = _pointer(context, builder, array, *arguments)
        return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=array.dtype.bitwidth // 8)

    return lanes(array, _indices(index)), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write ``value`` to consecutive elements of the last axis, from ``index`` (a tuple) on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(value)
        pointer = _pointer(context, builder, array, *arguments[:2])
        builder.store(arguments[2], builder.bitcast(pointer, vector.as_pointer()), align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, _indices(index), value), generate


def _define_prefetch(write: bool) -> Any:
    @intrinsic
    def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [address, number, number, number]), "llvm.prefetch.p0"
            )
            pointer = builder.bitcast(_pointer(context, builder, array, *arguments), address)
            second_level_cache, data = number(2), number(1)
            builder.call(function, [pointer, number(int(write)), second_level_cache, data])
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
        vector = context.get_value_type(lanes)
        undefined, index = ir.Constant(vector, ir.Undefined), ir.IntType(32)
        first = builder.insert_element(undefined, arguments[0], index(0))
        return builder.shuffle_vector(
            first, undefined, ir.Constant(ir.VectorType(index, lanes.count), [0] * lanes.count)
        )

    return lanes(number), generate


@intrinsic
def keep(typing_context: Any, value: Any, key: Any, column: Any, threshold: Any) -> Any:
    """``value`` where 32 random bits are below ``threshold``, else 0; the bits are a hash of the key and the column.

    Every column has a random number of its own, and the 64-bit key is a random line through which it goes: one
    multiplication an element, and any two decisions are independent (Dietzfelbinger's multiply-shift hashing).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, key_word, first, limit = arguments
        word, double = ir.IntType(32), ir.IntType(64)
        vector = ir.VectorType(word, value.count)

        def everywhere(scalar: Any) -> Any:
            undefined = ir.Constant(vector, ir.Undefined)
            only = builder.insert_element(undefined, builder.trunc(scalar, word), word(0))
            return builder.shuffle_vector(only, undefined, ir.Constant(vector, [0] * value.count))

        def constant(integer: int) -> Any:
            return ir.Constant(vector, [integer] * value.count)

        def scatter(x: Any, right: int, factor: int) -> Any:
            return builder.mul(builder.xor(x, builder.lshr(x, constant(right))), constant(factor))

        # The same for every row and hop, so the compiler computes it once.
        columns = builder.add(everywhere(first), ir.Constant(vector, list(range(1, value.count + 1))))
        of_column = scatter(scatter(builder.mul(columns, constant(0x9E3779B1)), 16, 0x7FEB352D), 15, 0x846CA68B)
        slope = builder.or_(everywhere(key_word), constant(1))
        offset = everywhere(builder.lshr(key_word, double(32)))
        x = builder.add(builder.mul(of_column, slope), offset)
        kept = builder.icmp_unsigned("<", x, everywhere(limit))
        return builder.select(kept, number, ir.Constant(context.get_value_type(value), None))

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
