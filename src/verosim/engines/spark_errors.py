"""Errors of Spark jobs as errors of verosim.

Spark sends the traceback of a Python worker as text, inside an error of its own.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

from verosim.data.same_rows import UNCHANGED
from verosim.engines.spark_tasks import ERROR_MARK, VERSIONS_MARK
from verosim.engines.versions import check_versions, versions_here
from verosim.errors import VerosimError

WORKER = "a Python worker of Spark"
LOST_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)'")


def translated(error: Exception, session: Any) -> VerosimError:
    """What went wrong in a job: on a worker, with the session, or in the steps of the frame."""
    text = str(error)
    for line in text.splitlines():
        if line.startswith(ERROR_MARK):
            return _of_kind(*json.loads(line.removeprefix(ERROR_MARK)))
        if VERSIONS_MARK in line:
            return _other_versions(json.loads(line.partition(VERSIONS_MARK)[2]))
    lost = LOST_MODULE.search(text)
    if lost and lost[1] in versions_here():
        return _other_versions({**versions_here(), lost[1]: ""})
    if not _answers(session):
        return VerosimError(
            "The Spark session was stopped, or the connection to it is lost.",
            f"Start a session and make the data frame again; {UNCHANGED}.",
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next(iter(lines), type(error).__name__)
    if "Traceback" in text:  # the last line of the traceback of a worker
        ends = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit)\b", line)]
        first = f"a Python worker raised {ends[-1]}" if ends else first
    return VerosimError(
        f"Spark could not compute the table: {first.rstrip('.')}.",
        f"Check the session and the steps that make the frame; {UNCHANGED}.",
    )


def _of_kind(kind: list[str], what: str, hint: str | None) -> VerosimError:
    """The error of a worker, with its own class, which the code that started the job may expect."""
    module, name = kind
    ours = module.partition(".")[0] == "verosim"
    found = getattr(import_module(module), name, VerosimError) if ours else VerosimError
    is_error = isinstance(found, type) and issubclass(found, VerosimError)
    return found(what, hint) if is_error else VerosimError(what, hint)


def _other_versions(found: dict[str, str]) -> VerosimError:
    try:
        check_versions(found, WORKER)
    except VerosimError as error:
        return VerosimError(
            error.what,
            f"{str(error.hint).rstrip('.')}, or set the environment variable PYSPARK_PYTHON to a "
            "Python that has it before the session starts.",
        )
    raise AssertionError("the versions of the worker are good")


def _answers(session: Any) -> bool:
    """Whether the session can still run a small job."""
    try:
        session.sql("SELECT 1").collect()
    except Exception:
        return False
    return True
