"""Model files of a command: read, describe, and replace under a lock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from verosim.cli.console import note
from verosim.cli.options import usage_error
from verosim.cli.tables import TABLE_FORMATS
from verosim.errors import VerosimError
from verosim.terminal import table_lines

SECONDS_BETWEEN_TRIES = 0.05


def check_model_name(path: Path) -> None:
    """Raise an error if a model would replace a table."""
    if path.suffix.lower() in (*TABLE_FORMATS, ".json", ".xlsx", ".gz"):
        raise usage_error(f"A model file has a name such as loans.verosim; got {str(path)!r}.")


def read_model(path: Path) -> Any:
    """The model of a file."""
    from verosim.files.store import load

    return load(path)


def read_predictor(path: Path) -> Any:
    """What predicts tables with the model of a file, without scikit-learn where possible."""
    from verosim.files.table_predictor import table_predictor

    return table_predictor(path)


def read_file(path: Path) -> tuple[Any, dict[str, Any]]:
    """The model of a file, and its notes and scores."""
    from verosim.files.store import MAX_BYTES, file_bytes, opened_file

    return opened_file(file_bytes(path, MAX_BYTES), MAX_BYTES)


def summary(model: Any) -> dict[str, Any]:
    """Rows, correct digits and fingerprint of the sums of a model, as far as it has them."""
    state = getattr(model, "checked_state", None)
    if state is None:
        return {}
    statistic = state().statistic
    out: dict[str, Any] = {"rows": float(statistic.rows.sum())}
    leaves = list(statistic.leaves())
    if all(leaf.has_sums for leaf in leaves):
        found = [digits for leaf in leaves if (digits := leaf.digits()) is not None]
        least = [float(digits.min()) for digits in found if digits.size]
        out["digits"] = round(max(min(least), 0.0), 1) if least else None
        out["fingerprint"] = statistic.fingerprint()
    return out


def shown(found: dict[str, Any]) -> dict[str, str]:
    """The summary as texts."""
    out = {}
    if "rows" in found:
        out["rows"] = f"{found['rows']:,.10g}"
    if "fingerprint" in found:
        digits = found["digits"]
        out["digits left"] = "all" if digits is None else f"{digits:.1f}"
        out["fingerprint"] = found["fingerprint"]
    return out


def change_model(
    path: Path, wait: float, change: Callable[[Any], Any], *, keeps_baseline: bool
) -> dict[str, Any]:
    """Replace a model file by a changed model. Returns the summaries before and after.

    The scores are those of the old model, so the new file does not have them. The baseline of
    log p(x) is that of the old rows, so it stays if all of them stay.
    """
    from verosim.files.held_out_scores import HeldOutScores
    from verosim.files.store import save

    path = Path(os.path.realpath(path))
    with locked_model(path, wait):
        model, content = read_file(path)
        before, old = summary(model), content["scores"]
        model = change(model)
        baseline = None
        if keeps_baseline and old is not None and old.log_density is not None:
            baseline = HeldOutScores({}, old.rows, old.log_density)
        save(model, path, notes=content["notes"], scores=baseline)
    if old is not None and old.scores:
        note("The scores of the old model were removed from the file. Use verosim validate.")
    return {"model": str(path), "before": before, "after": summary(model)}


def change_by_rows(
    method: str, table: Any, target: str | None, weight: str | None, skip_unlabelled: bool
) -> Callable[[Any], Any]:
    """A function that adds the rows of a table to a model or removes them, by a method's name."""

    def change(fitted: Any) -> Any:
        from verosim.cli.capabilities import check_can

        check_can(fitted, method)
        unlabelled = "skip" if skip_unlabelled else "error"
        return getattr(fitted, method)(table, target, sample_weight=weight, unlabelled=unlabelled)

    return change


def shown_change(found: dict[str, Any]) -> str:
    """The summaries before and after, side by side."""
    before, after = shown(found["before"]), shown(found["after"])
    lines = [("", "before", "after")]
    lines += [(name, before.get(name, ""), after[name]) for name in after]
    return "\n".join(table_lines(lines))


def _lock_within(wait: float, beside: Path, path: Path) -> int:
    """The open lock file of a model file. Other processes may have it for some seconds."""
    from verosim.whole_files import try_lock

    end = time.monotonic() + wait
    try:
        while (handle := try_lock(beside)) is None:
            if time.monotonic() > end:
                raise VerosimError(
                    f"Another process is changing the file {str(path)!r}.",
                    "Try again later, or wait longer with --wait.",
                )
            time.sleep(SECONDS_BETWEEN_TRIES)
    except OSError as error:
        raise VerosimError(
            f"The folder {str(path.parent)!r} cannot be written to: {error.strerror or error}.",
            "Use a folder that can be written to.",
        ) from error
    return handle


@contextmanager
def locked_model(path: Path, wait: float) -> Iterator[None]:
    """Hold the lock of a model file from reading to writing, so that no change is lost."""
    from verosim.whole_files import try_lock

    if not path.exists():
        read_model(path)  # raises the error of a missing file
    beside = path.with_name(f".{path.name}.lock")
    handle = None
    try:
        handle = _lock_within(wait, beside, path)
        yield
    except KeyboardInterrupt:
        if handle is None and beside.exists():  # it came while the lock was taken
            handle = try_lock(beside)
        raise
    finally:
        if handle is not None:
            beside.unlink(missing_ok=True)
            os.close(handle)
