"""`verosim diagnose`: are the assumptions of a model true, and are there enough rows?"""

from __future__ import annotations

from verosim.cli.console import show
from verosim.cli.models import read_model
from verosim.cli.options import (
    Database,
    Debug,
    Json,
    ModelFile,
    Query,
    Quiet,
    ReadSettings,
    SourceName,
    Target,
)
from verosim.cli.sources import opened


def diagnose_command(
    model: ModelFile,
    source: SourceName = None,
    target: Target = None,
    read: ReadSettings = None,
    db: Database = None,
    query: Query = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check the assumptions of a model and the number of its rows.

    Some findings need rows, such as those of the fit.

    \b
    Example:
      verosim diagnose loans.verosim
      verosim diagnose loans.verosim loans.csv
    """
    table = None
    if source is not None or db is not None or query is not None:
        table = opened(source, db, query, read)
    fitted = read_model(model)
    from verosim.validate.diagnose import diagnose as diagnosis

    y = target
    if table is not None and y is None and fitted.checked_state().schema is not None:
        y = fitted.checked_state().schema.target
    found = diagnosis(fitted, table, y)
    findings = [
        {"name": one.name, "value": one.value, "p_value": one.p_value, "reading": one.reading}
        for one in found
    ]
    show({"findings": findings}, str(found))
