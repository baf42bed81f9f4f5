"""`verosim look`: the kind of each column of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verosim.cli.console import note, show
from verosim.cli.options import (
    Database,
    Debug,
    Json,
    Na,
    Query,
    Quiet,
    ReadSettings,
    SourceName,
    Target,
    Weight,
    pairs,
)
from verosim.cli.shell_words import WRITTEN, for_shell
from verosim.cli.sources import opened


def look_command(
    source: SourceName = None,
    target: Target = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--as", metavar="COLUMN=KIND", help="The kind of a column, such as zip=category."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the schema, for fit --schema."),
    ] = None,
    weight: Weight = None,
    na: Na = None,
    read: ReadSettings = None,
    db: Database = None,
    query: Query = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Look at a table: the kind of each column, the reason, and points to check.

    \b
    Example:
      verosim look loans.csv --target default
      verosim look loans.csv -t default --as zip=category -o schema.json
    """
    import json as json_format

    from verosim.cli.output_files import output_file
    from verosim.kinds.look import look as look_at

    table = opened(source, db, query, read)
    columns = pairs(kinds, "--as") or "auto"
    schema = look_at(
        table,
        target,
        columns=columns,  # type: ignore[arg-type]
        sample_weight=weight,
        na=tuple(na or ()),
    )
    raw = schema.to_json()
    if output is not None:
        with output_file(str(output)) as file:
            file.write(raw)
    text = for_shell(str(schema)).replace(WRITTEN, "").replace("look --as", "--as")
    show(json_format.loads(raw), text)
    if output is not None:
        note(f"schema: {output}")
