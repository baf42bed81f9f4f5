"""Eight float64 numbers as one value in compiled loops.

Arithmetic on such a value becomes one instruction, or a few on a processor with shorter registers.
A loop that is written in this way does not depend on what the compiler finds out about it, and it
compiles faster.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, lower_builtin, register_model, type_callable

from verosim.kernels._compile import exact
from verosim.kernels.constants import LANES

VECTOR = ir.VectorType(ir.DoubleType(), LANES)
TO_WHOLE = 1.5 * 2.0**52  # a sum with this number is rounded to a whole number
WHOLE_BITS = 0x4338000000000000  # its bits; the bits of TO_WHOLE + n are WHOLE_BITS + n
PLACE, PLACE_64 = ir.IntType(32), ir.IntType(64)


class LanesType(types.Type):
    """The type of eight float64 numbers."""


lanes = LanesType("lanes")
EIGHT = types.UniTuple(lanes, LANES)


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    """The value is one vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


def _define(symbol, instruction):
    """Define an operator of two values by the instruction of the same meaning."""

    @type_callable(symbol)
    def type_of(context):
        return lambda a, b: lanes if a is lanes and b is lanes else None

    @lower_builtin(symbol, lanes, lanes)
    def lower(context, builder, signature, values):
        return getattr(builder, instruction)(*values)


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
_define(operator.truediv, "fdiv")


def _start(context, builder, signature, values, kind):
    """The address of eight numbers of an array, from values = (array, position, …)."""
    data = context.make_array(signature.args[0])(context, builder, values[0]).data
    first = builder.gep(data, [values[1]])
    return builder.bitcast(first, ir.VectorType(kind, LANES).as_pointer())


def _eight_times(builder, number):
    """A vector of one number."""
    nothing = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    one = builder.insert_element(nothing, number, PLACE(0))
    return builder.shuffle_vector(one, nothing, _places([0] * LANES))


@intrinsic
def eight_of(context, x):
    """Eight times the number x."""

    def code(context, builder, signature, values):
        return _eight_times(builder, values[0])

    return lanes(types.float64), code


@intrinsic
def repeat(context, array, at):
    """Eight times the number at position `at` of an array of float64."""

    def code(context, builder, signature, values):
        row = context.make_array(signature.args[0])(context, builder, values[0])
        step = cgutils.unpack_tuple(builder, row.strides)[0]
        place = cgutils.pointer_add(builder, row.data, builder.mul(values[1], step))
        return _eight_times(builder, builder.load(place))

    return lanes(array, types.intp), code


@intrinsic
def load_eight(context, array, at):
    """Eight numbers of a contiguous array of float64 from position `at` on."""

    def code(context, builder, signature, values):
        return builder.load(_start(context, builder, signature, values, ir.DoubleType()), align=8)

    return lanes(array, types.intp), code


def _cells(context, builder, X, values, verb):
    """The arguments of a masked instruction for cells of a row, and its name.

    X is the type of the matrix, and values = (matrix, row, first column, number of cells). `verb`
    is "load" or "store" for cells that are next to each other, else "gather" or "scatter".
    """
    matrix = context.make_array(X)(context, builder, values[0])
    steps = cgutils.unpack_tuple(builder, matrix.strides)
    size = X.dtype.bitwidth // 8
    several = ir.VectorType(context.get_value_type(X.dtype), LANES)
    first = builder.add(builder.mul(values[1], steps[0]), builder.mul(values[2], steps[1]))
    kind = f"v{LANES}{'f' if isinstance(X.dtype, types.Float) else 'i'}{X.dtype.bitwidth}"
    start = cgutils.pointer_add(builder, matrix.data, first, several.as_pointer())
    numbers = ir.Constant(ir.VectorType(PLACE_64, LANES), list(range(LANES)))
    given = builder.icmp_signed("<", numbers, _eight_times(builder, values[3]))
    if X.layout == "C":
        return several, [start, PLACE(size), given], f"llvm.masked.{verb[0]}.{kind}.p0"
    away = builder.mul(numbers, _eight_times(builder, steps[1]))
    places = builder.add(_eight_times(builder, builder.ptrtoint(start, PLACE_64)), away)
    pointers = ir.VectorType(context.get_value_type(X.dtype).as_pointer(), LANES)
    places = builder.inttoptr(places, pointers)
    return several, [places, PLACE(size), given], f"llvm.masked.{verb[1]}.{kind}.v{LANES}p0"


@intrinsic
def load_cells(context, X, i, j, count):
    """The cells j … j + count − 1 of row i of a matrix of numbers, as float64; then zeros.

    count is at most 8. Memory after these cells is not read.
    """
    kind = X.dtype

    def code(context, builder, signature, values):
        several, given, name = _cells(
            context, builder, signature.args[0], values, ("load", "gather")
        )
        given.append(ir.Constant(several, None))
        read = ir.FunctionType(several, [one.type for one in given])
        found = builder.call(cgutils.get_or_insert_function(builder.module, read, name), given)
        if kind == types.float64:
            return found
        if isinstance(kind, types.Float):
            return builder.fpext(found, VECTOR)
        return (builder.sitofp if kind.signed else builder.uitofp)(found, VECTOR)

    return lanes(X, types.intp, types.intp, types.intp), code


@intrinsic
def store_cells(context, X, i, j, count, value):
    """Write the first `count` numbers to the cells j … j + count − 1 of row i of a matrix."""

    def code(context, builder, signature, values):
        _, given, name = _cells(context, builder, signature.args[0], values, ("store", "scatter"))
        given.insert(0, values[4])
        write = ir.FunctionType(ir.VoidType(), [one.type for one in given])
        builder.call(cgutils.get_or_insert_function(builder.module, write, name), given)
        return context.get_dummy_value()

    return types.void(X, types.intp, types.intp, types.intp, lanes), code


@intrinsic
def store(context, array, at, value):
    """Write eight numbers to a contiguous array of float64 from position `at` on."""

    def code(context, builder, signature, values):
        start = _start(context, builder, signature, values, ir.DoubleType())
        builder.store(values[2], start, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), code


@intrinsic
def fused(context, a, b, c):
    """a·b + c, rounded once if the processor has an instruction for it."""

    def code(context, builder, signature, values):
        kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
        name = f"llvm.fmuladd.v{LANES}f64"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)

    return lanes(lanes, lanes, lanes), code


@intrinsic
def not_below(context, a, least):
    """a, or `least` where a is smaller; NaN stays NaN."""

    def code(context, builder, signature, values):
        return builder.select(builder.fcmp_ordered("<", *values), values[1], values[0])

    return lanes(lanes, lanes), code


@intrinsic
def all_finite(context, a):
    """Whether all eight numbers are finite. The difference of a and a is NaN where they are not."""

    def code(context, builder, signature, values):
        apart = builder.fsub(values[0], values[0])
        odd = builder.bitcast(builder.fcmp_unordered("uno", apart, apart), ir.IntType(LANES))
        return builder.icmp_unsigned("==", odd, ir.IntType(LANES)(0))

    return types.boolean(lanes), code


@intrinsic
def times_power(context, x, total):
    """x · 2ⁿ, where total = `TO_WHOLE` + n for a whole number n from −1100 to 1000.

    The last bits of such a sum are those of n. 2ⁿ is the product of two powers of two, because a
    very small result is below the smallest power that a normal number can store.
    """

    def code(context, builder, signature, values):
        whole = ir.VectorType(PLACE_64, LANES)

        def all_of(number):
            return ir.Constant(whole, [number] * LANES)

        power = builder.sub(builder.bitcast(values[1], whole), all_of(WHOLE_BITS))
        half = builder.ashr(power, all_of(1))
        found = values[0]
        for part in (half, builder.sub(power, half)):
            bits = builder.shl(builder.add(part, all_of(1023)), all_of(52))  # those of 2^part
            found = builder.fmul(found, builder.bitcast(bits, VECTOR))
        return found

    return lanes(lanes, lanes), code


@intrinsic
def larger(context, a, b):
    """The larger number of each pair, or that of b if one of them is NaN."""

    def code(context, builder, signature, values):
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return lanes(lanes, lanes), code


def _places(numbers):
    """The positions that a shuffle takes from two vectors, one after the other."""
    return ir.Constant(ir.VectorType(PLACE, LANES), numbers)


def _halves(builder, pair, step):
    """The first and the second halves of the parts of two vectors; a part has 2 · step numbers.

    The numbers of the first vector come before those of the second, part by part.
    """
    return [
        builder.shuffle_vector(
            *pair,
            _places([i & ~step | half | (LANES if i & step else 0) for i in range(LANES)]),
        )
        for half in (0, step)
    ]


@intrinsic
def turned(context, rows):
    """Eight rows of eight numbers, as their eight columns."""

    def code(context, builder, signature, values):
        found = cgutils.unpack_tuple(builder, values[0])
        for step in (1, 2, 4):
            for i in (i for i in range(LANES) if not i & step):
                found[i], found[i | step] = _halves(builder, (found[i], found[i | step]), step)
        return context.make_tuple(builder, signature.return_type, found)

    return EIGHT(EIGHT), code


@intrinsic
def totals(context, rows):
    """The sums of eight rows of eight numbers."""

    def code(context, builder, signature, values):
        found = cgutils.unpack_tuple(builder, values[0])
        for step in (1, 2, 4):
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [builder.fadd(*_halves(builder, pair, step)) for pair in pairs]
        return found[0]

    return lanes(EIGHT), code


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # the same in plain Python
    globals().update(
        eight_of=lambda x: np.full(LANES, float(x)),
        repeat=lambda array, at: np.full(LANES, array[at]),
        load_eight=lambda array, at: array[at : at + LANES].copy(),
        load_cells=lambda X, i, j, n: np.append(X[i, j : j + n], np.zeros(LANES - n)),
        store=lambda array, at, value: array.__setitem__(slice(at, at + LANES), value),
        store_cells=lambda X, i, j, n, value: X[i].__setitem__(slice(j, j + n), value[:n]),
        fused=lambda a, b, c: a * b + c,
        larger=lambda a, b: np.where(a > b, a, b),
        not_below=np.maximum,
        all_finite=lambda a: bool(np.isfinite(a).all()),
        times_power=lambda x, total: np.ldexp(x, (total - TO_WHOLE).astype(int)),
        turned=lambda rows: tuple(np.array(rows).T.copy()),
        totals=lambda rows: np.sum(rows, axis=1),
    )


@exact
def aligned_zeros(size):
    """An array of zeros at the start of a cache line, so that no eight numbers are in two lines."""
    whole = np.zeros(size + LANES)
    first = -(whole.ctypes.data // 8) % LANES
    return whole[first : first + size]
