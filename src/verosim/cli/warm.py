"""`verosim warm`: compile the numerical loops once, so that no fit waits for them."""

from __future__ import annotations

from typing import Annotated

import typer

from verosim.cli.console import note, show
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
    first fit on this machine is as fast as the second. Use it when you build a container image. If
    all loops are compiled already, the command ends at once.

    \b
    Example:
      verosim warm
    """
    import multiprocessing
    import os
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from pathlib import Path

    from verosim.cli import warm_jobs
    from verosim.errors import VerosimError
    from verosim.kernels.stored import mark_of_all_loops
    from verosim.terminal import watched

    mark = mark_of_all_loops(Path(warm_jobs.__file__))
    if mark is None:
        raise VerosimError(
            "No writable folder was found for the compiled loops.",
            "Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
        )
    if mark.exists():
        show({"tasks": 0}, "All numerical loops were compiled before.")
        return
    count = processes or min(os.cpu_count() or 1, 8)
    names = [task.__name__.replace("_", " ") for task in warm_jobs.TASKS]
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:
        tasks = {pool.submit(warm_jobs.run, at): name for at, name in enumerate(names)}
        for done, one in enumerate(as_completed(tasks), start=1):
            if watched():
                note(f"{done} of {len(tasks)}: {tasks[one]}")
    failed = {task: error for one, task in tasks.items() if (error := one.exception())}
    if failed:
        raise VerosimError(
            f"The loops of {', '.join(failed)} could not be compiled.",
            "Repeat the command with --debug, and report the error that it prints.",
        ) from next(iter(failed.values()))
    mark.touch()
    show({"tasks": len(tasks)}, "All numerical loops are compiled and stored on disk.")
