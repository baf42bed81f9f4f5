"""The verbs of the command line and their order in the help."""

from __future__ import annotations

from typing import Annotated

import typer

import verosim
from verosim.cli.demo import demo_command
from verosim.cli.diagnose import diagnose_command
from verosim.cli.drift import drift_command
from verosim.cli.endings import ending_quietly
from verosim.cli.explain import explain_command
from verosim.cli.fit import fit_command
from verosim.cli.forget import forget_command
from verosim.cli.info import info_command
from verosim.cli.look import look_command
from verosim.cli.merge import merge_command
from verosim.cli.plot import plot_command
from verosim.cli.predict import predict_command
from verosim.cli.report import report_command
from verosim.cli.sample import sample_command
from verosim.cli.update import update_command
from verosim.cli.validate import validate_command
from verosim.cli.warm import warm_command

VERBS = (
    look_command, fit_command, update_command, validate_command, predict_command, explain_command,
    sample_command, merge_command, forget_command, drift_command, diagnose_command, plot_command,
    report_command, info_command, demo_command, warm_command,
)  # fmt: skip

app = typer.Typer(
    name="verosim",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for verb in VERBS:
    app.command(name=verb.__name__.removesuffix("_command"))(ending_quietly(verb))


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"verosim {verosim.__version__}")
        raise typer.Exit


@app.callback()
def verosim_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Generative classification: read the data once, everything after is algebra.

    \b
    Example:
      verosim fit loans.csv --target default -o loans.verosim
      verosim predict loans.verosim new.csv --keep id -o scored.csv

    Exit codes: 0 done, 1 data or model refused, 2 wrong command, 3 a check failed, 130
    interrupted.
    """
