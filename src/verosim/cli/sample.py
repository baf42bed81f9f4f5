"""`verosim sample`: new rows that are drawn from a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from verosim.cli.models import read_model
from verosim.cli.options import (
    Debug,
    Json,
    ModelFile,
    Quiet,
    Spreadsheet,
    TableOutput,
    pairs,
    parsed,
)
from verosim.cli.output_files import STDOUT
from verosim.cli.tables import format_of, write_table


def sample_command(
    model: ModelFile,
    n: Annotated[int, typer.Option("-n", min=1, help="The number of rows.")] = 10,
    given: Annotated[
        list[str] | None,
        typer.Option("--given", metavar="COLUMN=VALUE", help="The value of a column. Repeatable."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="Draw rows of this class only.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same rows.")
    ] = None,
    output: TableOutput = STDOUT,
    spreadsheet: Spreadsheet = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw new rows from a model: first the class, then the columns.

    \b
    Example:
      verosim sample loans.verosim -n 1000 --given age=40 --seed 1 -o drawn.csv
    """
    format_of(output)
    fitted = read_model(model)
    from verosim.cli.capabilities import check_can

    check_can(fitted, "sample")
    how: dict[str, Any] = {"random_state": seed}
    if label is not None:
        how["y"] = {str(one): one for one in fitted.classes_.tolist()}.get(label, label)
    if given:
        how["given"] = _values(fitted, pairs(given, "--given"))
    rows, labels = fitted.sample(n, **how)
    table = _table(fitted, rows, labels)
    write_table(table.schema, table.to_batches(), output, spreadsheet)


def _values(fitted: Any, given: dict[str, str]) -> dict[str, Any]:
    """Numbers for columns of numbers, and texts for the others."""
    schema = fitted.checked_state().schema
    numbers = ("gaussian", "histogram", "poisson", "lifted")
    return {
        name: parsed(text)
        if schema is None or name not in schema.names or schema[name].density in numbers
        else text
        for name, text in given.items()
    }


def _table(fitted: Any, rows: Any, labels: Any) -> Any:
    """The rows as an Arrow table, with the labels in the last column."""
    import numpy as np
    import pyarrow as pa

    from verosim.data.adapters import open_table
    from verosim.data.cells import label_column

    state = fitted.checked_state()
    if isinstance(rows, np.ndarray):
        names = list(state.statistic.axes.columns.names)
        table = pa.table({str(name): rows[:, j] for j, name in enumerate(names)})
    else:
        batches = [part.batch for part in open_table(rows).batches()]
        table = pa.Table.from_batches(batches)
    target = None if state.schema is None else state.schema.target
    return table.append_column(target or "class", label_column(labels.tolist()))
