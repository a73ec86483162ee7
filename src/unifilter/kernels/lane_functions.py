"""What softmax does with :mod:`unifilter.kernels.lanes`: the exponential, the larger of two, sum and maximum of all.

numba calls a library for each single exponential. Here all lanes are computed at once, by the textbook way:
``exp(x) = 2^n exp(r)``, where ``n`` is the whole number next to ``x / log(2)`` and ``exp(r)`` its Taylor polynomial.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from unifilter.kernels.vector_code import reduction, sum_of


class _Format(NamedTuple):
    """What the exponential depends on.

    Attributes:
        mantissa: Bits after the binary point.
        degree: Of the polynomial: with ``r`` in ±log(2)/2 the next term is below half a unit in the last place.
        high, low: log(2) in two parts. The first has so few bits that its product with any ``n`` is exact.
        least: Below it the result would be smaller than the smallest normal number.
    """

    mantissa: int
    degree: int
    high: float
    low: float
    least: float


# log(2) is the sum of both: 45426 / 2^16, and the rest.
_HIGH, _LOW = 0.693145751953125, 1.4286068203094172e-06
_FORMATS = {
    types.float32: _Format(23, 7, _HIGH, _LOW, -87.3),
    types.float64: _Format(52, 13, _HIGH, _LOW, -708.0),
}


@intrinsic
def exponential(typing_context: Any, value: Any) -> Any:
    """``exp(value)`` for what is not positive; a number so small that the result is none becomes the smallest result.

    What is no number stays none.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = _FORMATS[value.dtype]
        (x,) = arguments
        vector = x.type
        integers = ir.VectorType(ir.IntType(value.dtype.bitwidth), vector.count)

        def constant(number: float) -> Any:
            return ir.Constant(vector, [number] * vector.count)

        def multiply_add(left: Any, right: Any, addend: Any) -> Any:
            return builder.fadd(builder.fmul(left, right, flags=("contract",)), addend, flags=("contract",))

        # Written so that what is no number fails the comparison and stays.
        x = builder.select(builder.fcmp_ordered("<", x, constant(form.least)), constant(form.least), x)
        # Added to so large a number, all that is left of x / log(2) is a whole number, in the last bits.
        large = constant(1.5 * 2**form.mantissa)
        shifted = multiply_add(x, constant(1 / math.log(2)), large)
        whole = builder.fsub(shifted, large)
        rest = multiply_add(whole, constant(-form.high), x)
        rest = multiply_add(whole, constant(-form.low), rest)
        power = constant(1 / math.factorial(form.degree))
        for term in reversed(range(form.degree)):
            power = multiply_add(power, rest, constant(1 / math.factorial(term)))
        # Times 2^n: the whole number goes to the exponent.
        exponent = builder.shl(
            builder.bitcast(shifted, integers), ir.Constant(integers, [form.mantissa] * vector.count)
        )
        return builder.bitcast(builder.add(builder.bitcast(power, integers), exponent), vector)

    return value(value), generate


@intrinsic
def larger(typing_context: Any, left: Any, right: Any) -> Any:
    """The larger of two, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return left(left, right), generate


@intrinsic
def largest(typing_context: Any, value: Any) -> Any:
    """The largest of all lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.call(reduction(builder, "fmax", arguments[0].type), arguments)

    return value.dtype(value), generate


@intrinsic
def total(typing_context: Any, value: Any) -> Any:
    """The sum of all lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return sum_of(builder, arguments[0])

    return value.dtype(value), generate
