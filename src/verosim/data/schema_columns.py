"""One column of a schema, and the kinds that `columns=` accepts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from verosim.data.column_kinds import (
    IGNORE,
    KindDescription,
    kind_named,
    kind_with_name,
    known_kinds,
)
from verosim.data.declared_values import declared_values
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.data.cell_formats import Format

SET_BY_USER = "set by the user"  # the reason if the user chose the kind
CATEGORY_NAME = "category"  # the kind of a column with declared values
WORD_ROLES = (CATEGORY_NAME, "text")  # in these roles, every text is a value


@dataclass(frozen=True)
class Column:
    """One column of a schema: its name, its type, its kind and the reason for the kind.

    Attributes
    ----------
    name : str
        The name of the column in the table.
    density : str
        The kind of the column: "gaussian", "histogram", "poisson", "category", "boolean", "date",
        "date+trend", "text" or "ignore".
    type : str
        The type in the source, such as "int64" or "string". It is "text" for a CSV file.
    reason : str
        Why the column has this kind. It is "set by the user" if the user chose the kind.
    note : str
        A point that the user should check, or "" if there is none.
    whole : bool
        Whether all values are whole numbers.
    edges : tuple of float
        The edges of the bins of a numeric column, or () for other columns.
    frequent : tuple of int
        The 64-bit hashes of the most frequent values of a category column with more than
        `max_categories` values, sorted. The model keeps these values first. It is () for all other
        columns. A hash does not contain the value, but it is not anonymous: someone who guesses
        the value can compute its hash.
    format : str
        How the texts of a number or a date are written, such as "1.234,56", "$1,234.56" or
        "31/12/2024". It is "" for plain numbers, for dates like 2024-12-31, and for columns that
        are not text.
    missing : tuple of str
        The texts of a number, a date or a boolean that are read as missing in this column, in
        addition to the `na` of the schema.
    values : tuple of str
        The possible values of a category, if the user has declared them, or ().
    unread : tuple of int
        The 64-bit hashes of such texts, in the schema of a model after `forget`: the texts
        themselves may be those of forgotten rows.
    kind : KindDescription
        The properties of the kind.
    role : str
        The role of the column: "number", "category", "boolean", "date/time", "text" or "ignored".
    """

    name: str
    density: str
    type: str = ""
    reason: str = ""
    note: str = ""
    whole: bool = False
    edges: tuple[float, ...] = ()
    frequent: tuple[int, ...] = ()
    format: str = ""
    missing: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    unread: tuple[int, ...] = ()

    @property
    def kind(self) -> KindDescription:
        """The properties of the kind."""
        return kind_with_name(self.density) or as_kind(self.density, self.name)

    @property
    def role(self) -> str:
        """The role of the column in a model."""
        return self.kind.role


def as_kind(name: Any, column: str) -> KindDescription:
    """The kind with a name that `columns=` accepts, with or without a format.

    A list of possible values is a category.
    """
    from verosim.data.cell_formats import split_kind  # arrays have no formats

    if declared_values(name, column):
        name = CATEGORY_NAME
    plain, format_ = split_kind(name, column)
    kind = kind_named(plain) if isinstance(plain, str) else None
    if kind is not None and format_ is not None and kind.role != format_.role:
        raise VerosimError(
            f'Column {column!r}: {plain!r} cannot have the format "{format_}".',
            "Use a number with a format of numbers, or a date with a format of dates.",
        )
    if kind is None:
        raise VerosimError(
            f"Column {column!r}: {name!r} is not a kind of column.",
            f"Use one of {', '.join(kind.name for kind in known_kinds())}, or a list of the "
            "possible values of a category.",
        )
    return kind


def edited(
    column: Column, kind: KindDescription, format_: Format | None, given: Any, reason: str
) -> Column:
    """The entry of a column with another kind."""
    if kind == IGNORE:
        return replace(as_ignored(column), reason=reason)
    words = kind.role in WORD_ROLES
    return replace(
        column, density=kind.name, note="", reason=reason,
        format=str(format_ or column.format),
        frequent=column.frequent if kind.role == "category" else (),
        missing=() if words else column.missing, unread=() if words else column.unread,
        values=declared_values(given, column.name),
    )  # fmt: skip


def alike(column: Column, name: str, edges: tuple[float, ...]) -> Column:
    """The entry of another column of numbers that differs only in these two fields.

    A wide table has many such columns, and this is faster than to set each field.
    """
    out = object.__new__(Column)
    vars(out).update(vars(column), name=name, edges=edges)
    return out


def as_ignored(column: Column) -> Column:
    """The entry of a column that is ignored. It has no value of the column."""
    return Column(column.name, IGNORE.name, column.type, column.reason)
