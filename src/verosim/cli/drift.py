"""`verosim drift`: which columns and classes have changed since a model was fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from verosim.cli.console import aligned, show
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
        scores = _scores({str(model): fitted, str(other): second}, on, target, read)
        data["scores"] = scores
        lines = {
            name: ", ".join(f"{score} {value:.4f}" for score, value in one.items())
            for name, one in scores.items()
        }
        text += f"\n\n{aligned(lines)}"
    show(data, text)


def _scores(
    models: dict[str, Any], on: str, target: str | None, read: list[str] | None
) -> dict[str, dict[str, float]]:
    """The scores of both models on the same rows."""
    from verosim.validate.new_rows import score_new_rows

    table = opened(on, None, None, read)
    return {name: score_new_rows(one, table, target).scores for name, one in models.items()}
