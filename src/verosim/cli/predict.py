"""`verosim predict`: the class and the probabilities of each row, in little memory."""

from __future__ import annotations

from typing import Annotated

import typer

from verosim.cli.console import note
from verosim.cli.engines import Address, EngineName, check_folder, command_rows, write_predictions
from verosim.cli.models import read_model, read_predictor
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
from verosim.cli.tables import format_of, write_table


def predict_command(
    model: ModelFile,
    source: SourceName = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="A column to copy. Repeatable."),
    ] = None,
    output: TableOutput = STDOUT,
    spreadsheet: Spreadsheet = False,
    na: Na = None,
    read: ReadSettings = None,
    db: Database = None,
    query: Query = None,
    engine: EngineName = None,
    address: Address = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict rows: the class, the probability of each class, and the log density.

    The rows are read and written in pieces, so a table can be larger than memory.

    \b
    Example:
      verosim predict loans.verosim new.csv --keep id -o scored.parquet
      cat new.csv | verosim predict loans.verosim - --keep id
    """
    if engine is None:
        format_of(output)  # a wrong name is found before the work
    else:
        check_folder(output, spreadsheet)
    kept, marks = tuple(keep or ()), tuple(na or ())
    with command_rows(engine, address, source, db, query, read, again=False) as table:
        if engine is not None:
            write_predictions(read_model(model), table, kept, marks, output)
            note(f"predictions: {output}")
            return
        fitted = read_predictor(model)
        if hasattr(fitted, "predict_table"):
            reader = fitted.predict_table(table, kept, na=marks)
            rows = write_table(reader.schema, reader, output, spreadsheet)
        else:
            from verosim.cli.pieces import predicted_pieces

            schema, pieces = predicted_pieces(fitted, table, kept)
            rows = write_table(schema, pieces, output, spreadsheet)
    if output != STDOUT:
        note(f"{rows:,} rows: {output}")
