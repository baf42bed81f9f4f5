"""`verosim fit`: choose and fit a model, and write it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from verosim.cli.console import show
from verosim.cli.models import shown, summary
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
    parsed,
    usage_error,
)
from verosim.cli.sources import opened


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
        typer.Option("--model", metavar="NAME", help="Fit this model, such as lda or naivebayes."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A setting of --model, such as shrinkage=0.1."
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option("--folds", help="Folds for the scores of --model; 0 for no scores.")
    ] = 5,
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
    if not output.absolute().parent.is_dir():
        raise usage_error(f"The folder of {str(output)!r} does not exist.")
    table = opened(source, db, query, read)
    from verosim.data.schema import Schema
    from verosim.files.store import save

    how: dict[str, Any] = {
        "sample_weight": weight, "na": tuple(na or ()),
        "unlabelled": "skip" if skip_unlabelled else "error",
        "schema": None if schema is None else Schema.load(schema),
    }  # fmt: skip
    if model is None:
        fitted, scores, text = _chosen(table, target, effort, simple, how)
    else:
        unfitted = named_model(model, pairs(settings, "--set"))
        fitted, scores, text = _given(unfitted, table, target, folds, how)
    kept = {**pairs(notes, "--note"), "scores": scores}
    save(fitted, output, notes=kept, statistics=not no_statistics)
    found = summary(fitted)
    described = str(fitted.checked_state().schema or "")
    done = ", ".join(f"{name} {value}" for name, value in shown(found).items() if name == "rows")
    data = {"model": repr(fitted), "file": str(output), "scores": scores, **found}
    show(data, f"{described}\n\n{text}\n\n{fitted!r}, {done}: {output}")


def _chosen(
    table: Any, target: str | None, effort: Any, simple: bool, how: dict[str, Any]
) -> tuple[Any, dict[str, float], str]:
    from verosim.pool.auto import auto

    found = auto(table, target, effort=effort, simple=simple, **how)
    if not found.table.complete:  # Ctrl-C: a model of some experts is not what was asked for
        raise KeyboardInterrupt
    best = found.table[0]
    return found.model, {"accuracy": best.accuracy, "log_loss": best.score}, str(found.table)


def _given(
    model: Any, table: Any, target: str | None, folds: int, how: dict[str, Any]
) -> tuple[Any, dict[str, float], str]:
    from verosim.estimators.statistic_classifier import StatisticClassifier
    from verosim.validate.cross_validation import cross_validate

    if folds and isinstance(model, StatisticClassifier):
        found = cross_validate(model, table, target, folds, **how)
        scores, text = {name: found.mean(name) for name in found.scores}, str(found)
    else:
        scores, text = {}, "no scores"
    return model.fit(table, target, **how), scores, text


def named_model(name: str, settings: dict[str, str]) -> Any:
    """The model with a name in any case, such as lda, with its settings."""
    from verosim.estimators.statistic_classifier import StatisticClassifier
    from verosim.files.models import SAVED_MODELS

    kinds: dict[str, Any] = {
        kind.__name__.lower(): kind
        for kind in SAVED_MODELS
        if issubclass(kind, StatisticClassifier)
    }
    wanted = name.lower().replace("_", "").replace("-", "")
    if wanted not in kinds:
        raise usage_error(f"--model must be one of {', '.join(sorted(kinds))}; got {name!r}.")
    kind = kinds[wanted]
    known = kind().get_params().keys()
    unknown = settings.keys() - known
    if unknown:
        raise usage_error(
            f"{kind.__name__} has no setting {sorted(unknown)[0]!r}; it has "
            f"{', '.join(sorted(known)) or 'none'}."
        )
    return kind(**{setting: parsed(value) for setting, value in settings.items()})
