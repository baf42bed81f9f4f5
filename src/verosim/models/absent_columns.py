"""Columns of the fit that a table to predict does not have.

Their cells are missing, which is useful in a short table that a person has written. A longer table
without such a column, or one with a column of nearly the same name, is probably a mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from verosim.data.tables import Table
from verosim.errors import VerosimError, VerosimWarning, listed, warn
from verosim.models.spec import Spec

LEAST_ROWS_TO_WARN = 20  # a table with fewer rows may leave out columns without a warning
SIMILAR = 0.8  # the similarity of two names (difflib) from which one may mean the other


def check_present(
    spec: Spec, table: Table, wanted: Sequence[str], others: Iterable[str | None]
) -> None:
    """Warn about columns of the fit that the table lacks.

    It is an error if all are absent, or if the model does not allow missing cells. `others` are
    names that the model knows, but does not read.
    """
    present = set(table.names)
    absent = [name for name in wanted if name not in present]
    if not absent:
        return
    strange = present.difference(wanted, (name for name in others if name is not None))
    pairs = {name: near for name in absent if (near := similar(name, strange))}
    if len(absent) == len(wanted):
        raise VerosimError(
            f"The table has none of the columns that the model was fitted on: {listed(absent)}.",
            "Check the names, including upper case, dots and spaces.",
        )
    if not spec.allows_missing:
        raise VerosimError(
            f"The table does not have the {_columns(absent)} that {spec.name} was fitted on.",
            _rename(pairs) if pairs else "Give the table all columns of the fit.",
        )
    if pairs:
        warn(f"{_lost(list(pairs))} {_rename(pairs)}", VerosimWarning)
    elif table.rows is None or table.rows >= LEAST_ROWS_TO_WARN:
        warn(_lost(absent), VerosimWarning)


def similar(name: str, others: Iterable[str]) -> str | None:
    """The name among others that is the same except for case, spaces and signs, or similar."""
    plain = {_plain(other): other for other in sorted(others)}
    close = get_close_matches(_plain(name), plain, 1, SIMILAR)
    return plain[close[0]] if close else None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold() or name


def _lost(names: list[str]) -> str:
    return (
        f"The table does not have the {_columns(names)} of the fit, so all these cells are missing."
    )


def _columns(names: list[str]) -> str:
    return f"columns {listed(names)}" if len(names) > 1 else f"column {names[0]!r}"


def _rename(pairs: dict[str, str]) -> str:
    shown = ", ".join(f"{new!r} to {old!r}" for old, new in list(pairs.items())[:5])
    return f"Rename {shown} if this is the same column."
