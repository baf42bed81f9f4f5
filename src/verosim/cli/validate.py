"""`verosim validate`: scores of a model on new rows, and checks of these scores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from verosim.cli.checks import check_scores, limits
from verosim.cli.console import show
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
    SkipUnlabelled,
    SourceName,
    Target,
    Weight,
    pairs,
)
from verosim.cli.sources import opened


def validate_command(
    model: ModelFile,
    source: SourceName = None,
    target: Target = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="COLUMN", help="Scores and decision rates of each group."),
    ] = None,
    scoring: Annotated[
        list[str] | None,
        typer.Option("--score", metavar="NAME", help="One more score, such as roc_auc."),
    ] = None,
    at_least: Annotated[
        list[str] | None,
        typer.Option(
            "--at-least", metavar="SCORE=NUMBER", help="Exit with 3 if the score is below."
        ),
    ] = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(
            "--at-most", metavar="SCORE=NUMBER", help="Exit with 3 if the score is above."
        ),
    ] = None,
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
    """Score a model on new rows with labels, and check the scores.

    It also prints the shares of missing cells and of values that were not seen at fit.

    \b
    Example:
      verosim validate loans.verosim new.csv --at-least accuracy=0.8
      verosim validate loans.verosim new.csv --by sex
    """
    least = limits(pairs(at_least, "--at-least"), "--at-least")
    most = limits(pairs(at_most, "--at-most"), "--at-most")
    table = opened(source, db, query, read)
    fitted = read_model(model)
    from verosim.validate.new_rows import score_new_rows

    wanted = [*(scoring or ()), *least, *most]
    calibration = "calibration_error"
    found = score_new_rows(
        fitted, table, target, scoring=[name for name in wanted if name != calibration],
        sample_weight=weight, by=by, na=tuple(na or ()),
        unlabelled="skip" if skip_unlabelled else "error",
    )  # fmt: skip
    scores = dict(found.scores)
    if found.reliability is not None:
        scores[calibration] = found.reliability.error
    data: dict[str, Any] = {
        "rows": found.rows, "scores": scores, "classes": found.classes,
        "confusion": found.confusion, "missing": found.missing, "unseen": found.unseen,
        "new_labels": found.new_labels,
    }  # fmt: skip
    if found.log_density is not None:
        data["log_density"] = dict(zip(("mean", "deviation"), found.log_density, strict=True))
    if found.by is not None:
        data["by"] = found.by.table
    show(data, str(found))
    check_scores(scores, least, most)
