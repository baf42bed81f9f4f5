"""`verosim explain`: what each column adds to a decision."""

from __future__ import annotations

from typing import Annotated

import typer

from verosim.cli.console import CONSOLE, show
from verosim.cli.models import read_model
from verosim.cli.options import (
    Database,
    Debug,
    Json,
    ModelFile,
    Na,
    Query,
    Quiet,
    ReadSettings,
    SourceName,
    Spreadsheet,
    TableOutput,
)
from verosim.cli.sources import opened, row_of
from verosim.cli.tables import format_of, write_table
from verosim.cli.whole_files import STDOUT


def explain_command(
    model: ModelFile,
    source: SourceName = None,
    row: Annotated[
        int | None, typer.Option("--row", min=0, help="The number of one row, from 0.")
    ] = None,
    of: Annotated[
        str | None, typer.Option("--of", metavar="CLASS", help="The class to explain.")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="CLASS", help="The class to compare with.")
    ] = None,
    output: TableOutput = STDOUT,
    spreadsheet: Spreadsheet = False,
    na: Na = None,
    read: ReadSettings = None,
    db: Database = None,
    query: Query = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Explain decisions: what each column adds to the log-odds of the predicted class.

    With --row, one row is printed as a table. Without it, each row is one line. With -o, all
    parts are written to a table.

    \b
    Example:
      verosim explain loans.verosim new.csv --row 17
      verosim explain loans.verosim new.csv -o parts.csv
    """
    if output != STDOUT:
        format_of(output)
    table = opened(source, db, query, read)
    if row is not None:
        table = row_of(table, row)
    fitted = read_model(model)
    from verosim.insight.explain import explain as explanation

    labels = {str(label): label for label in fitted.classes_.tolist()}
    found = explanation(
        fitted,
        table,
        of=None if of is None else labels.get(of, of),
        against=None if against is None else labels.get(against, against),
        na=tuple(na or ()),
    )
    if output != STDOUT:
        parts = found.to_dict()
        if row is not None:
            parts["row"] = [row] * len(parts["row"])
        _write(parts, output, spreadsheet)
    elif CONSOLE.json or row is None:
        show(found.to_dict(), "\n".join(f"{i}: {one}" for i, one in enumerate(found)))
    else:
        show({}, f"{found}\n\n{found.table(markdown=False)}")


def _write(parts: dict[str, list[object]], output: str, spreadsheet: bool) -> None:
    import pyarrow as pa

    parts["value"] = [None if value is None else str(value) for value in parts["value"]]
    table = pa.table(parts)
    write_table(table.schema, table.to_batches(), output, spreadsheet)
