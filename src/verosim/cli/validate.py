"""`verosim validate`: scores of a model on new rows, and checks of these scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from verosim.cli.checks import check_scores, limits
from verosim.cli.console import show
from verosim.cli.models import read_file
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
    usage_error,
)
from verosim.cli.sources import opened

CALIBRATION, FALL = "calibration_error", "fall"  # numbers with a limit, which are not scores


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

    It also prints the shares of missing cells and of values that were not seen at fit, and how far
    log p(x) has fallen since the fit. Other names for --at-least and --at-most are
    calibration_error, and fall, which is the fall of log p(x) in nats per row.

    \b
    Example:
      verosim validate loans.verosim new.csv --at-least accuracy=0.8
      verosim validate loans.verosim new.csv --by sex
    """
    least = limits(pairs(at_least, "--at-least"), "--at-least")
    most = limits(pairs(at_most, "--at-most"), "--at-most")
    table = opened(source, db, query, read)
    fitted, content = read_file(model)
    from verosim.validate.new_rows import score_new_rows

    wanted = [*(scoring or ()), *least, *most]
    if not hasattr(fitted, "checked_state"):
        from verosim.cli.pieces import scored_pieces

        found = scored_pieces(fitted, table, target)
        if by is not None or weight is not None:
            raise usage_error(f"{type(fitted).__name__} cannot use --by or --weight.")
    else:
        found = score_new_rows(
            fitted, table, target,
            scoring=[name for name in wanted if name not in (CALIBRATION, FALL)],
            sample_weight=weight, by=by, na=tuple(na or ()),
            unlabelled="skip" if skip_unlabelled else "error",
        )  # fmt: skip
    scores = dict(found.scores)
    if found.reliability is not None:
        scores[CALIBRATION] = found.reliability.error
    data: dict[str, Any] = {
        "rows": found.rows, "scores": scores, "classes": found.classes,
        "confusion": found.confusion, "missing": found.missing, "unseen": found.unseen,
        "new_labels": found.new_labels,
    }  # fmt: skip
    text = str(replace(found, by=None))
    if found.log_density is not None:
        data["log_density"], compared = _compared(found, content["scores"])
        scores |= {FALL: data["log_density"][FALL]} if compared else {}
        text += f"\n{compared}" if compared else ""
    if found.by is not None:
        data["by"] = found.by.table
        text += f"\n\n{found.by}"
    show(data, text)
    check_scores(scores, least, most)


def _compared(found: Any, baseline: Any) -> tuple[dict[str, Any], str]:
    """How far log p(x) has fallen since the fit, if the file has a baseline."""
    mean, deviation = found.log_density
    data = {"mean": mean, "deviation": deviation}
    if baseline is None or baseline.log_density is None:
        return data, ""
    before, spread = baseline.log_density
    fall = before - mean
    in_deviations = fall / spread if spread > 0 else float("nan")
    data |= {
        "baseline": {"mean": before, "deviation": spread, "rows": baseline.rows},
        FALL: fall, "fall_in_deviations": in_deviations,
    }  # fmt: skip
    what = "fell" if fall >= 0 else "rose"
    return data, (
        f"log p(x) {what} by {abs(fall):.4f} nats per row, {abs(in_deviations):.2f} deviations, "
        f"from {before:.4f} of {baseline.rows:,.10g} held-out rows of the fit"
    )
