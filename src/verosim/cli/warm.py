"""`verosim warm`: compile the numerical loops once, so that no fit waits for them."""

from __future__ import annotations

from typing import Annotated

import typer

from verosim.cli.console import show
from verosim.cli.options import Debug, Json, Quiet


def warm_command(
    processes: Annotated[
        int,
        typer.Option(
            "--processes", min=0, help="Processes to use. 0 is one for each core, at most 8."
        ),
    ] = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compile the numerical loops of all models once, and keep the result on disk.

    A loop is compiled when it is first used, which takes some seconds. After this command, the
    first fit on this machine is as fast as the second. Use it when you build a container image.

    \b
    Example:
      verosim warm
    """
    import os
    import subprocess
    import sys
    from concurrent.futures import ThreadPoolExecutor

    from verosim.cli.warm_jobs import TASKS

    def compile_for(task: int) -> int:
        """Run one task in a process of its own: a process compiles one loop at a time."""
        code = f"from verosim.cli.warm_jobs import run; run({task})"
        return subprocess.run([sys.executable, "-c", code], check=False).returncode

    count = processes or min(os.cpu_count() or 1, 8)
    with ThreadPoolExecutor(count) as pool:
        codes = list(pool.map(compile_for, range(len(TASKS))))
    failed = [task.__name__ for task, code in zip(TASKS, codes, strict=True) if code]
    if failed:
        from verosim.errors import VerosimError

        raise VerosimError(
            f"The loops of {', '.join(failed)} could not be compiled.",
            "Repeat the command, and report the error that it prints.",
        )
    show({"tasks": len(codes)}, "All numerical loops are compiled and stored on disk.")
