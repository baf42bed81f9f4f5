"""`verosim report`: one HTML file that shows what a model knows, and runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    SourceName,
    Target,
    usage_error,
)
from verosim.cli.sources import opened
from verosim.terminal import in_one_line


def report_command(
    model: ModelFile,
    source: SourceName = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file to write.")
    ] = Path("report.html"),
    rows: Annotated[
        int, typer.Option("--rows", min=0, help="How many rows of the data to show, of each kind.")
    ] = 0,
    budget: Annotated[
        str, typer.Option("--budget", metavar="SIZE", help="The largest size of the file.")
    ] = "3MB",
    language: Annotated[str, typer.Option("--language", metavar="CODE", help="en or es.")] = "en",
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="The title of the page.")
    ] = None,
    target: Target = None,
    read: ReadSettings = None,
    db: Database = None,
    query: Query = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a report of a model: one HTML file with an interactive nomogram.

    Without ROWS, it has all that the sums of the model show. The file needs no network.

    \b
    Example:
      verosim report loans.verosim
      verosim report loans.verosim loans.csv -o report.html
    """
    if language not in ("en", "es"):
        raise usage_error(f"--language must be en or es; got {language!r}.")
    table = None
    if source is not None or db is not None or query is not None:
        table = opened(source, db, query, read)
    fitted = read_model(model)
    from verosim.insight.report.report import report as write_report

    path = write_report(
        fitted, table, target, path=output, rows=rows, budget=budget,
        language="es" if language == "es" else "en", title=title,
    )  # fmt: skip
    size = path.stat().st_size
    show({"report": str(path), "bytes": size}, in_one_line(f"{path}: {size:,} bytes"))
