"""The arguments and options that several verbs have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from verosim.cli.console import CONSOLE
from verosim.terminal import silence


def _set_json(value: bool) -> None:
    CONSOLE.json = value


def _set_quiet(value: bool) -> None:
    CONSOLE.quiet = value
    silence(value)


def _set_debug(value: bool) -> None:
    CONSOLE.debug = value


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.", callback=_set_json)]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print errors only.", callback=_set_quiet),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Print errors with a traceback.", callback=_set_debug),
]

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file, such as loans.verosim.")
]
SourceName = Annotated[
    str | None,
    typer.Argument(
        metavar="ROWS",
        help="The rows: a file, a folder, a pattern such as 'data/*.csv', or - for stdin.",
        show_default=False,
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="URL",
        help="A database: the path of a DuckDB or SQLite file, or a URL such as "
        "sqlite:///loans.db or postgresql://host/name.",
    ),
]
Query = Annotated[
    str | None, typer.Option("--query", metavar="SQL", help="A SELECT statement for --db.")
]
ReadSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="NAME=VALUE",
        help="How files are read: sep, decimal, encoding, quote, sheet or format. Repeatable.",
    ),
]
Na = Annotated[
    list[str] | None,
    typer.Option("--na", metavar="TEXT", help="A text that means a missing value. Repeatable."),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="The column of the labels.", show_default=False
    ),
]
Weight = Annotated[
    str | None, typer.Option("--weight", metavar="COLUMN", help="The column of weights.")
]
SkipUnlabelled = Annotated[
    bool, typer.Option("--skip-unlabelled", help="Leave out rows without a label.")
]
TableOutput = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="A .csv, .tsv, .jsonl, .parquet or .arrow file. Without it, CSV on stdout.",
        show_default=False,
    ),
]
ModelOutput = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The model file to write.")
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="Put a quote before CSV cells that a spreadsheet could run as a formula.",
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        "--wait", metavar="SECONDS", help="How long to wait for another writer of the file."
    ),
]


def pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """Options NAME=VALUE as a dict."""
    out: dict[str, str] = {}
    for one in given or []:
        name, sign, value = one.partition("=")
        if not sign or not name:
            raise usage_error(f"{option} must be NAME=VALUE; got {one!r}.")
        out[name] = value
    return out


def parsed(text: str) -> Any:
    """The value of a setting: JSON such as 0.1, true, null or [1, 2], otherwise text."""
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text


class WrongCommand(typer.BadParameter):
    """The error for a wrong command, in the words of the message only."""

    def format_message(self) -> str:
        return str(self.message)


def usage_error(text: str) -> WrongCommand:
    """The error for a wrong command."""
    return WrongCommand(text)
