"""The entry point: runs a verb and turns errors into one or two lines and an exit code.

0 done · 1 data or model refused · 2 wrong command · 3 a check failed · 130 interrupted
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import warnings
from _thread import interrupt_main, start_new_thread
from collections.abc import Sequence
from typing import Any

from verosim.cli.console import CONSOLE, complain, let_go_of, note, usable_streams
from verosim.cli.shell_words import for_shell
from verosim.terminal import in_one_line

SUCCESS, REFUSED, WRONG_COMMAND, CHECK_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
COMPLETION = ("--install-completion", "--show-completion")  # options of typer
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")  # that typer has completion for


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        The words after `verosim`. None takes those of the process.

    Returns
    -------
    int
        The exit code.
    """
    with usable_streams(), warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = _run(sys.argv[1:] if arguments is None else list(arguments))
            sys.stdout.flush()
            return code
        except KeyboardInterrupt:
            let_go_of(sys.stdout)
            note("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            let_go_of(sys.stdout)
            return SUCCESS
        except OSError as error:  # a disk that is full
            let_go_of(sys.stdout)
            what = f"The results cannot be printed: {error.strerror or error}."
            return _fail(what, "Check where stdout is written to.", REFUSED)


def _run(arguments: list[str]) -> int:
    import typer

    from verosim.cli.app import app
    from verosim.cli.checks import CheckFailed
    from verosim.cli.endings import Interrupted, PipeClosed
    from verosim.errors import VerosimError

    if arguments and arguments[0] in COMPLETION:
        problem = _no_completion()
        if problem:
            hint = "Run the command in bash, zsh, fish or PowerShell."
            return _fail(problem, hint, WRONG_COMMAND)
    wrong_command: Any = typer.BadParameter.__bases__[0]  # all errors of usage
    try:
        code = app(arguments or ["--help"], prog_name="verosim", standalone_mode=False)
        return _checked(code)
    except typer.Exit as done:
        return _checked(done.exit_code)
    except SystemExit as done:  # of typer, after it printed the completion
        return _checked(done.code)
    except (typer.Abort, Interrupted):
        raise KeyboardInterrupt from None
    except PipeClosed:
        raise BrokenPipeError from None
    except wrong_command as error:
        return _fail(error.format_message(), _help_hint(error), WRONG_COMMAND)
    except CheckFailed as error:
        return _fail(error.what, error.hint, CHECK_FAILED)
    except VerosimError as error:
        return _fail(error.what, error.hint, REFUSED)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except OSError as error:
        if error.filename is None:
            hint = "Check the disk, and where stdout is written to."
            return _fail(f"{error.strerror or error}.", hint, REFUSED)
        what = f"{os.fspath(error.filename)!r}: {error.strerror or error}."
        return _fail(what, "Check the path.", REFUSED)
    except MemoryError:
        return _fail("There is not enough memory.", "Use fewer rows or columns.", REFUSED)
    except Exception as error:
        if type(error).__name__ == "ArrowCancelled":  # Ctrl-C while Arrow reads a file
            raise KeyboardInterrupt from None
        lines = str(error).splitlines() or [""]
        what = f"Unexpected {type(error).__name__}: {lines[0]}"
        return _fail(what, "Repeat the command with --debug, and report the error.", REFUSED)


def _no_completion() -> str | None:
    """Why there is no completion here: the parents of the process have no shell, or another one."""
    import shellingham

    try:
        shell, _ = shellingham.detect_shell()
    except shellingham.ShellDetectionFailure:
        return "This process was not started from a shell, so there is nothing to complete."
    return None if shell in SHELLS else f"Completion is not available for {shell}."


def _checked(code: Any) -> int:
    """The exit code of typer. It has one of its own for Ctrl-C before a verb."""
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return code if isinstance(code, int) else SUCCESS


def _fail(what: str, hint: str | None, code: int) -> int:
    """Print an error in one or two lines; with --debug, the traceback first."""
    if CONSOLE.debug:
        import traceback

        complain(traceback.format_exc().rstrip())
    complain(in_one_line(f"error: {for_shell(what)}"))
    if hint:
        complain(in_one_line(f"hint: {for_shell(hint)}"))
    return code


def _help_hint(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f"See: {'verosim' if context is None else context.command_path} --help"


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    """One line for a warning of verosim. The warnings of other libraries need --debug."""
    ours = any(kind.__module__ == "verosim.errors" for kind in category.__mro__)
    if ours or CONSOLE.debug:
        note(f"warning: {for_shell(str(message))}")


def _unraisable(problem: Any) -> None:
    """Interrupt the process also if Ctrl-C came inside code that cannot raise it."""
    if problem.exc_type is KeyboardInterrupt:
        # Here it would be lost again. A thread of `threading` takes locks, which may be held.
        start_new_thread(_interrupt_soon, ())
    else:
        sys.__unraisablehook__(problem)


def _interrupt_soon() -> None:
    time.sleep(0.01)
    first = threading.main_thread().ident
    if first is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(first, signal.SIGINT)  # also ends a call of the system, such as a read
    else:
        interrupt_main()


def _fill_descriptors() -> None:
    """Open closed standard streams, so that no file of ours gets the number of one of them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def run_process() -> None:
    """Run the command line of this process, and end it with the exit code."""
    sys.unraisablehook = _unraisable
    try:
        _fill_descriptors()
        code = main()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the verb is done
    except KeyboardInterrupt:  # a second one, or one before the verb
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        note("interrupted")
        code = INTERRUPTED
    if code == INTERRUPTED:  # work in other threads is not waited for
        sys.stderr.flush()
        os._exit(code)
    gc.freeze()  # Python would search all objects for garbage, and the process ends anyway
    sys.exit(code)
