"""`verosim merge`: one model of the rows of several models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verosim.cli.console import show
from verosim.cli.models import check_model_name, read_file, shown, summary
from verosim.cli.options import Debug, Json, ModelOutput, Quiet, usage_error
from verosim.terminal import in_lines, named_lines


def merge_command(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="Two or more model files.")
    ],
    output: ModelOutput,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Merge models that were fitted on different rows with the same schema.

    The result is the model of all rows. It has the notes of the first model, without its scores.

    \b
    Example:
      verosim merge north.verosim south.verosim -o all.verosim
    """
    check_model_name(output)
    if len(models) < 2:
        raise usage_error("Give two or more model files.")
    from verosim.cli.capabilities import check_can
    from verosim.files.store import save

    total, content = read_file(models[0])
    check_can(total, "merge")
    found = {str(models[0]): summary(total)}
    for path in models[1:]:
        other, _ = read_file(path)
        found[str(path)] = summary(other)
        total = total.merge(other)
    save(total, output, notes=content["notes"])
    after = summary(total)
    lines = {name: f"{one['rows']:,.10g} rows" for name, one in found.items()}
    lines[str(output)] = f"{after['rows']:,.10g} rows"
    rest = {name: value for name, value in shown(after).items() if name != "rows"}
    text = in_lines([*named_lines(lines), "", *named_lines(rest)])
    show({"models": found, "file": str(output), **after}, text)
