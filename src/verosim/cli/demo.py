"""`verosim demo`: the life of a model on a small table, command by command."""

from __future__ import annotations

from typing import Annotated

import typer

from verosim.cli.console import CONSOLE
from verosim.cli.options import Debug, Quiet
from verosim.terminal import in_one_line

DEMO_INTRO = """\
A shop has 300 visits of its web page: age, device, minutes, pages, and whether the customer bought.
verosim reads them once. After that, everything is computed from sums."""
DEMO_STEPS = (
    (
        "Look at the table: the kind of each column. The number of the customer is not used.",
        "look visits.csv -t result --as customer=ignore -o schema.json",
    ),
    (
        "Fit a model. It is chosen by its score on held-out rows.",
        "fit visits.csv --schema schema.json --simple -o visits.verosim",
    ),
    (
        "Score it on the 100 visits after that. A script sees by the exit code if it is too bad.",
        "validate visits.verosim later.csv --at-least accuracy=0.6",
    ),
    (
        "Explain one decision: what each column adds to the log-odds.",
        "explain visits.verosim later.csv --row 3",
    ),
    (
        "One customer wants to be forgotten. The new file is that of a model without these rows.",
        "forget visits.verosim erased.csv",
    ),
    (
        "Another branch fits its own visits with the same schema, and the models are merged.",
        "fit later.csv --schema schema.json --model naivebayes --folds 0 -o later.verosim -q",
    ),
    ("", "merge visits.verosim later.verosim -o all.verosim"),
    ("Predict to a file.", "predict all.verosim later.csv --keep customer -o scored.csv"),
)


def demo_command(
    folder: Annotated[
        str | None,
        typer.Option("--folder", metavar="FOLDER", help="Keep the files in this new folder."),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show the life of a model on a small table: look, fit, validate, explain, forget, merge.

    \b
    Example:
      verosim demo
    """
    import os
    import shlex
    import sys
    import tempfile
    from contextlib import chdir
    from pathlib import Path

    from verosim.cli.main import main

    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary if folder is None else folder)
        if folder is not None:
            place.mkdir(parents=True)
        for name, text in demo_tables().items():
            (place / name).write_text(text)
        print(DEMO_INTRO)
        with chdir(place):
            for title, command in DEMO_STEPS:
                print(f"\n# {title}\n" if title else "", end="")
                print(f"$ verosim {command}", flush=True)
                words = [*shlex.split(command), *(["--debug"] if debug else [])]
                code = main(words)
                sys.stdout.flush()
                if code:
                    raise typer.Exit(code)
            if not CONSOLE.quiet:
                print("\n" + "".join((place / "scored.csv").open().readlines()[:4]), end="")
        where = in_one_line(f"Files: {os.fspath(place)}") if folder else "The files were removed."
        print(f"\n{where}")


def demo_tables() -> dict[str, str]:
    """Two tables of visits of a shop, and the rows of one customer. They are always the same."""
    import random

    draw = random.Random(7)
    header = "customer,age,device,minutes,pages,result"
    lines = []
    for number in range(400):
        buys = draw.random() < 0.4
        age = round(draw.gauss(44 if buys else 36, 9))
        device = draw.choices(["phone", "laptop", "tablet"], [2, 5, 1] if buys else [6, 3, 1])[0]
        minutes = "" if draw.random() < 0.05 else f"{draw.gammavariate(4, 3 if buys else 1.8):.1f}"
        pages = sum(draw.random() < (0.45 if buys else 0.3) for _ in range(12))
        result = "buys" if buys else "leaves"
        lines.append(f"C{number // 2:03d},{age},{device},{minutes},{pages},{result}")
    erased = [line for line in lines[:300] if line.startswith("C017,")]
    return {
        name: "\n".join([header, *rows, ""])
        for name, rows in (
            ("visits.csv", lines[:300]), ("later.csv", lines[300:]), ("erased.csv", erased),
        )
    }  # fmt: skip
