"""`verosim drift`: which columns and classes have changed since a model was fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from verosim.cli.console import show
from verosim.cli.models import read_model
from verosim.cli.options import (
    Database,
    Debug,
    Json,
    ModelFile,
    Query,
    Quiet,
    ReadSettings,
    Target,
    usage_error,
)
from verosim.cli.sources import STDIN, opened
from verosim.terminal import in_lines, table_lines


def drift_command(
    model: ModelFile,
    other: Annotated[
        str | None,
        typer.Argument(metavar="MODEL|ROWS", help="Another model file (.verosim), or rows."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="ROWS", help="Score both models on these rows."),
    ] = None,
    target: Target = None,
    read: ReadSettings = None,
    db: Database = None,
    query: Query = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure which columns and classes have changed, from the sums of the models alone.

    The numbers are nats per row and the population stability index (PSI).

    \b
    Example:
      verosim drift loans.verosim june.csv
      verosim drift may.verosim june.verosim --on july.csv
    """
    is_model = other not in (None, STDIN) and Path(str(other)).suffix == ".verosim"
    if on is not None and not is_model:
        raise usage_error("--on needs two model files.")
    fitted = read_model(model)
    second: Any = read_model(Path(str(other))) if is_model else opened(other, db, query, read)
    from verosim.validate.drift import drift

    found = drift(fitted, second, target)
    columns = {
        name: {"nats": found.nats[j], "psi": found.index[j], "drifted": found.drifted[j]}
        for j, name in enumerate(found.columns)
    }
    classes = {
        str(label): {
            "before": found.shares[0, k], "after": found.shares[1, k], "nats": found.class_nats[k],
        }
        for k, label in enumerate(found.classes.tolist())
    }  # fmt: skip
    data: dict[str, Any] = {
        "rows": found.rows, "columns": columns, "classes": classes,
        "class_psi": found.class_index, "not_compared": found.left_out,
    }  # fmt: skip
    text = str(found)
    if on is not None:
        data["on"], table = _side_by_side(fitted, second, on, target, read)
        text += f"\n\n{table}"
    show(data, text)


def _side_by_side(
    first: Any, second: Any, on: str, target: str | None, read: list[str] | None
) -> tuple[dict[str, Any], str]:
    """The scores of both models on the same rows, and their differences row by row."""
    from verosim.validate.new_rows import paired_difference, score_new_rows

    given = opened(on, None, None, read)
    found = [score_new_rows(one, given, target, each_row=True) for one in (first, second)]
    rows = found[0].rows
    data: dict[str, Any] = {"rows": rows, "scores": {}}
    lines = [("score", "first", "second", "second − first", "standard error")]
    for name in [name for name in found[0].of_rows if name in found[1].of_rows]:
        before, after = (one.scores[name] for one in found)
        difference, error = paired_difference(*(one.of_rows[name] for one in found))
        data["scores"][name] = {
            "first": before, "second": after, "difference": difference, "standard_error": error,
        }  # fmt: skip
        lines.append((name, f"{before:.4f}", f"{after:.4f}", f"{difference:+.4f}", f"{error:.4f}"))
    table = table_lines(lines, range(1, len(lines[0])))
    return data, in_lines([f"on {rows:,} rows of {on}, paired", *table])
