"""The code of a loop for its callers only.

A loop that other loops call becomes a part of their code. Numba would also make machine code and
a function for Python from it, which no code calls. Without them, compiling is a third faster.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CR_FIELDS, Flags, compile_extra, compile_result
from numba.core.registry import CPUDispatcher

ALLOCATES = frozenset(
    {"arange", "copy", "empty", "empty_like", "full", "ones", "zeros", "zeros_like"}
)


class LinkedCode(JITCodeLibrary):
    """Optimised code that callers include. No machine code is made from it."""

    def _optimize_final_module(self) -> None:
        """Prepare the code for its callers, which are optimised with it in them."""
        found: Any = self.codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        passes, *builder = found if isinstance(found, tuple) else (found,)  # by version of numba
        passes.run(self._final_module, *builder)

    def _finalize_final_module(self) -> None:
        """Mark the code as complete."""
        self._finalize_dynamic_globals()
        self._finalized = True


def compile_part(kernel: Any, types: tuple[Any, ...]) -> Any:
    """Compile a loop for these types of arguments, for use in other loops only."""
    context = kernel.targetctx
    flags: Any = Flags()
    kernel.targetdescr.options.parse_as_flags(flags, kernel.targetoptions)
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    code = LinkedCode(context.codegen(), kernel.__qualname__)
    with kernel.is_compiling:
        found = compile_extra(
            kernel.typingctx, context, kernel.py_func, types, None, flags, kernel.locals, code
        )
    place = object()  # numba finds the code of a call by this value
    context.insert_user_function(place, found.fndesc, [code])
    return compile_result(**dict(zip(CR_FIELDS, found, strict=True)) | {"entry_point": place})


def is_part(compiled: Any) -> bool:
    """Whether this code cannot be called from Python."""
    return compiled is not None and isinstance(compiled.library, LinkedCode)


@cache
def makes_arrays(kernel: CPUDispatcher) -> bool:
    """Whether a loop makes arrays, itself or in the loops that it calls.

    Without new arrays, numba does not need to count references, which makes the code shorter.
    """
    names = kernel.py_func.__code__.co_names
    used = (kernel.py_func.__globals__.get(name) for name in names)
    return not ALLOCATES.isdisjoint(names) or any(
        makes_arrays(one) for one in used if isinstance(one, CPUDispatcher)
    )
