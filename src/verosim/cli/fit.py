"""`verosim fit`: choose and fit a model, and write it to a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from verosim.cli.console import show
from verosim.cli.engines import Address, EngineName, command_rows
from verosim.cli.models import check_model_name, shown, summary
from verosim.cli.options import (
    Database,
    Debug,
    Json,
    ModelOutput,
    Na,
    Query,
    Quiet,
    ReadSettings,
    SkipUnlabelled,
    SourceName,
    Target,
    Weight,
    pairs,
    usage_error,
)
from verosim.cli.shell_words import for_shell
from verosim.terminal import in_one_line, printable

SCORE_FOLDS = 5  # for the scores


def fit_command(
    output: ModelOutput,
    source: SourceName = None,
    target: Target = None,
    simple: Annotated[
        bool, typer.Option("--simple", help="Choose one textbook model instead of a pool.")
    ] = False,
    effort: Annotated[
        str, typer.Option("--effort", metavar="fast|default|max", help="The experts of a pool.")
    ] = "default",
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="NAME", help="Fit this model, such as lda, naivebayes or logistic."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A setting of --model, such as shrinkage=0.1."
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option("--folds", help="Folds for the scores of --model; 0 for no scores.")
    ] = SCORE_FOLDS,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", metavar="FILE", help="A schema of `verosim look -o FILE`."),
    ] = None,
    notes: Annotated[
        list[str] | None,
        typer.Option("--note", metavar="NAME=TEXT", help="A note in the file. Repeatable."),
    ] = None,
    no_statistics: Annotated[
        bool,
        typer.Option("--no-statistics", help="Write a smaller file that can only predict."),
    ] = False,
    weight: Weight = None,
    skip_unlabelled: SkipUnlabelled = False,
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
    """Fit a model to rows and write it to a file.

    Without --model, the model is chosen by its scores on rows that it was not fitted on. The
    schema and the scores are printed.

    \b
    Example:
      verosim fit loans.csv --target default -o loans.verosim
      verosim fit loans.csv -t default --model lda --set shrinkage=0.1 -o loans.verosim
    """
    from verosim.pool.spec import EFFORTS

    if effort not in EFFORTS:
        raise usage_error(f"--effort must be fast, default or max; got {effort!r}.")
    if model is None and settings:
        raise usage_error("--set needs --model.")
    if model is not None and simple:
        raise usage_error("--simple and --model cannot be used together.")
    if target is None and schema is None:
        raise usage_error("Give the column of the labels with --target.")
    check_model_name(output)
    if not output.absolute().parent.is_dir():
        raise usage_error(f"The folder of {str(output)!r} does not exist.")
    from verosim.data.schema import Schema
    from verosim.files.held_out_scores import held_out_scores
    from verosim.files.store import save

    how: dict[str, Any] = {
        "sample_weight": weight, "na": tuple(na or ()),
        "unlabelled": "skip" if skip_unlabelled else "error",
        "schema": None if schema is None else Schema.load(schema),
    }  # fmt: skip
    with command_rows(engine, address, source, db, query, read) as table:
        if model is None:
            fitted, scores, text = _chosen(table, target, effort, simple, how)
        else:
            from verosim.cli.named_models import named_model

            unfitted = named_model(model, pairs(settings, "--set"))
            fitted, scores, text = _given(unfitted, table, target, folds, how)
    kept = pairs(notes, "--note") or None
    save(fitted, output, notes=kept, scores=scores, statistics=not no_statistics)
    found = summary(fitted)
    state = fitted.checked_state() if hasattr(fitted, "checked_state") else None
    # The schema of --schema is known to the user.
    described = "" if state is None or schema is not None else for_shell(str(state.schema or ""))
    rows = found.get("rows", 0.0)
    kept_scores = {} if scores is None else held_out_scores(scores, rows).scores
    done = ", ".join(f"{name} {value}" for name, value in shown(found).items() if name == "rows")
    data = {"model": repr(fitted), "file": str(output), "scores": kept_scores, **found}
    described_model = f"{fitted!r}, {done}" if done else repr(fitted)
    what = f"{printable(described_model)}: {in_one_line(str(output))}"
    show(data, "\n\n".join(part for part in (described, for_shell(text), what) if part))


def _chosen(
    table: Any, target: str | None, effort: Any, simple: bool, how: dict[str, Any]
) -> tuple[Any, Any, str]:
    from verosim.files.held_out_scores import held_out_scores
    from verosim.pool.auto import auto

    found = auto(table, target, effort=effort, simple=simple, **how)
    if not found.table.complete:  # Ctrl-C: a model of some experts is not what was asked for
        raise KeyboardInterrupt
    scores = held_out_scores(found, float(found.model.checked_state().statistic.rows.sum()))
    if simple and found.model.checked_state().spec.is_density:
        # The choice does not need the density of each row, and the file keeps it as a baseline.
        again = _scored(found.model, table, target, SCORE_FOLDS, how)
        scores = replace(scores, log_density=again.log_density)
    return found.model, scores, str(found.table)


def _given(
    model: Any, table: Any, target: str | None, folds: int, how: dict[str, Any]
) -> tuple[Any, Any, str]:
    from inspect import signature

    from verosim.cli.pieces import cross_validated, numbers_and_labels, reads_numbers
    from verosim.estimators.statistic_classifier import StatisticClassifier
    from verosim.files.held_out_scores import HeldOutScores

    name, scores, text = type(model).__name__, None, "no scores: use verosim validate on other rows"
    if reads_numbers(model):
        _check_accepted(name, how, ("schema", "na"))
        X, y = numbers_and_labels(model, table, target, how["schema"], how["na"])
        if folds:
            scores = HeldOutScores(cross_validated(model, X, y, folds), len(y))
            text = str(scores)
        return model.fit(X, y), scores, text
    accepted = tuple(signature(model.fit).parameters)
    _check_accepted(name, how, accepted)
    how = {name: value for name, value in how.items() if name in accepted}
    if folds and isinstance(model, StatisticClassifier):
        scores = _scored(model, table, target, folds, how)
        text = str(scores)
    return model.fit(table, target, **how), scores, text


def _check_accepted(name: str, how: dict[str, Any], accepted: tuple[str, ...]) -> None:
    """Raise an error for an option that the model cannot use."""
    options = {
        "sample_weight": "--weight", "na": "--na", "schema": "--schema",
        "unlabelled": "--skip-unlabelled",
    }  # fmt: skip
    for key, value in how.items():
        if key not in accepted and value not in (None, (), "error"):
            raise usage_error(f"{name} cannot use {options[key]}.")


def _scored(model: Any, table: Any, target: str | None, folds: int, how: dict[str, Any]) -> Any:
    from verosim.validate.cross_validation import cross_validate

    return cross_validate(model, table, target, folds, log_density=True, **how)
