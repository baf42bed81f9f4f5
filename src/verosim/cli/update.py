"""`verosim update`: add rows to a model file."""

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


def update_command(
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
    """Add rows to a model file. The result is the model of all rows.

    The file is replaced whole or not at all. The rows, the correct digits that are left and the
    fingerprint are printed, before and after.

    \b
    Example:
      verosim update loans.verosim today.csv
    """
    table = opened(source, db, query, read)
    change = change_by_rows("partial_fit", table, target, weight, skip_unlabelled)
    found = change_model(model, wait, change, keeps_baseline=True)
    show(found, shown_change(found))
