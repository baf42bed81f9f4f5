"""`verosim plot`: a picture of a model, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from verosim.cli.console import note
from verosim.cli.models import read_model
from verosim.cli.options import (
    Database,
    Debug,
    ModelFile,
    Query,
    Quiet,
    ReadSettings,
    SourceName,
    Target,
    usage_error,
)
from verosim.cli.sources import opened, row_of

OF_MODEL = ("nomogram", "graph", "densities", "diagnosis")  # rows are not needed
OF_LABELS = ("boundary", "pairs", "projection", "sample", "whitening")
OF_EXPLANATIONS = ("evidence", "evidence_summary", "importance", "effect")
OF_SCORES = ("confusion", "calibration")
PICTURES = (*OF_MODEL, *OF_LABELS, *OF_EXPLANATIONS, *OF_SCORES)
PICTURE_FORMATS = (".svg", ".png", ".pdf")


def plot_command(
    model: ModelFile,
    source: SourceName = None,
    what: Annotated[
        str, typer.Option("--what", metavar="PICTURE", help=f"One of {', '.join(PICTURES)}.")
    ] = "densities",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .svg, .png or .pdf file.")
    ] = Path("plot.svg"),
    target: Target = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="COLUMN", help="A column of the picture. Repeatable."),
    ] = None,
    row: Annotated[int, typer.Option("--row", min=0, help="The row of --what evidence.")] = 0,
    read: ReadSettings = None,
    db: Database = None,
    query: Query = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Draw a picture of a model.

    Pictures other than nomogram, graph, densities and diagnosis need rows.

    \b
    Example:
      verosim plot loans.verosim --what nomogram -o n.svg
      verosim plot loans.verosim new.csv --what confusion -o c.png
    """
    if what not in PICTURES:
        raise usage_error(f"--what must be one of {', '.join(PICTURES)}; got {what!r}.")
    if output.suffix.lower() not in PICTURE_FORMATS:
        raise usage_error(f"A picture is a .svg, .png or .pdf file; got {str(output)!r}.")
    table = None
    if source is not None or db is not None or query is not None:
        table = opened(source, db, query, read)
    if table is None and what not in OF_MODEL:
        raise usage_error(f"--what {what} needs rows.")
    import os

    os.environ["MPLBACKEND"] = "agg"  # no window
    fitted = read_model(model)
    drawn = _drawn(fitted, table, what, target, columns or [], row)
    from verosim.cli.output_files import output_file

    figure = getattr(drawn, "figure", None) or drawn
    with output_file(str(output)) as file:
        kind = output.suffix[1:].lower()
        # The same picture gives the same bytes: no date.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(file, format=kind, metadata=metadata)
    note(f"{what}: {output}")


def _drawn(
    fitted: Any, table: Any, what: str, target: str | None, columns: list[str], row: int
) -> Any:
    import verosim

    if what == "diagnosis":
        return verosim.diagnose(fitted).plot()
    draw = getattr(verosim, f"plot_{what}")
    if what == "densities":
        return draw(fitted, columns or None)
    if what in OF_MODEL:
        return draw(fitted)
    if what in OF_SCORES:
        from verosim.validate.new_rows import score_new_rows

        scored = score_new_rows(fitted, table, target)
        if what == "confusion":
            return draw(scored.confusion, scored.classes)
        return draw(scored.reliability)
    if what in OF_EXPLANATIONS:
        if what == "evidence":
            return draw(verosim.explain(fitted, row_of(table, row)))
        if what == "effect":
            if len(columns) != 1:
                raise usage_error("--what effect needs one --column.")
            labels = fitted.classes_.tolist()
            found = verosim.explain(fitted, table, of=labels[-1], against=labels[0])
            return draw(found, columns[0])
        return draw(verosim.explain(fitted, table))
    schema = fitted.checked_state().schema
    label = target or (None if schema is None else schema.target)
    if what == "projection":
        return draw(fitted, table, label)
    return draw(fitted, table, label, **({"columns": columns} if columns else {}))
