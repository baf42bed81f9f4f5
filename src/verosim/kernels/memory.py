"""Requests for memory that a loop will read soon.

A loop that handles one cell at a time asks for the next cells too late, because the processor sees
only a few of them in advance.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def prefetch(typing, array, index):
    """Request the memory of array[index]; the program does not wait for it."""

    def build(context, builder, signature, arguments):
        """Emit the machine instruction: for reading, to stay in the caches."""
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.type, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(call, [byte, *(ir.Constant(number, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, index), build
