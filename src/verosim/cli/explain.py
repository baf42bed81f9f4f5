"""`verosim explain`: what each column adds to a decision."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

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
from verosim.cli.output_files import STDOUT
from verosim.cli.sources import opened, pieces_of, row_of
from verosim.cli.tables import format_of, write_table
from verosim.errors import VerosimError
from verosim.terminal import in_one_line

if TYPE_CHECKING:
    import pyarrow as pa

    from verosim.data.tables import Table

PIECE = 10_000  # rows that are explained together


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
    parts are written to a table. The rows are read in pieces, so a table can be larger than memory.

    \b
    Example:
      verosim explain loans.verosim new.csv --row 17
      verosim explain loans.verosim new.csv -o parts.csv
    """
    if output != STDOUT:
        format_of(output)
    table = opened(source, db, query, read, again=row is not None)
    fitted = read_model(model)
    labels = {str(label): label for label in fitted.classes_.tolist()}
    how = {
        "of": None if of is None else labels.get(of, of),
        "against": None if against is None else labels.get(against, against),
    }  # fmt: skip
    marks = tuple(na or ())
    if row is not None:
        found = _explained(fitted, row_of(table, row), how, marks)
        if output != STDOUT:
            part = _parts(found, row)
            write_table(part.schema, part.to_batches(), output, spreadsheet)
        else:
            show({**found.to_dict(), "row": [row] * len(found.to_dict()["row"])},
                 f"{found}\n\n{found.table(markdown=False)}")  # fmt: skip
        return
    pieces = (
        (first, _explained(fitted, piece, how, marks)) for first, piece in pieces_of(table, PIECE)
    )
    if output == STDOUT and not CONSOLE.json:
        for first, found in pieces:
            for i, one in enumerate(found):
                print(in_one_line(f"{first + i}: {one}"))
        return
    tables = (_parts(found, first) for first, found in pieces)
    start = next(tables, None)
    if start is None:
        raise VerosimError("The table has no rows.", "Check the table.")
    batches = (batch for part in chain([start], tables) for batch in part.to_batches())
    write_table(start.schema, batches, output, spreadsheet)


def _explained(fitted: Any, table: Table, how: dict[str, Any], na: tuple[str, ...]) -> Any:
    from verosim.cli.pieces import input_of, reads_numbers
    from verosim.insight.explain import explain

    if reads_numbers(fitted):
        return explain(fitted, input_of(fitted, next(table.batches())), **how)
    return explain(fitted, table, na=na, **how)


def _parts(found: Any, first: int) -> pa.Table:
    """The parts of all columns as a table. The rows are counted from `first`."""
    import pyarrow as pa

    from verosim.data.cells import label_column

    parts = found.to_dict()
    parts["row"] = [first + at for at in parts["row"]]
    for name in ("class", "against"):
        parts[name] = label_column(parts[name])
    parts["value"] = [None if value is None else str(value) for value in parts["value"]]
    return pa.table(parts)
