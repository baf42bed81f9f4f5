"""`verosim forget`: remove rows from a model file."""

from __future__ import annotations

from verosim.cli.console import show
from verosim.cli.models import change_by_rows, change_model, shown_change
from verosim.cli.options import (
    Database,
    Debug,
    Json,
    ModelFile,
    Query,
    Quiet,
    ReadSettings,
    SkipUnlabelled,
    SourceName,
    Target,
    Wait,
    Weight,
)
from verosim.cli.sources import opened


def forget_command(
    model: ModelFile,
    source: SourceName = None,
    target: Target = None,
    weight: Weight = None,
    skip_unlabelled: SkipUnlabelled = False,
    wait: Wait = 10.0,
    read: ReadSettings = None,
    db: Database = None,
    query: Query = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Remove rows from a model file. The result is the model that never saw them.

    The rows must be those of the fit, with their labels.

    The file is replaced whole or not at all. The rows, the correct digits that are left and the
    fingerprint are printed, before and after.

    \b
    Example:
      verosim forget loans.verosim erased.csv
    """
    table = opened(source, db, query, read)
    change = change_by_rows("forget", table, target, weight, skip_unlabelled)
    found = change_model(model, wait, change, keeps_baseline=False)
    show(found, shown_change(found))
