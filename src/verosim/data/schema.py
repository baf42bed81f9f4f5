"""The schema: the kind of each column of a table, and so how a model reads it.

    column → role (number, category, boolean, date, text, ignored) → density, and the reason

A model depends only on the schema and the rows, so two models with one schema can be merged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verosim.axes import Columns
from verosim.axes.value_hashes import HashedText, agreed_values, hashes_of
from verosim.cached import cached_property
from verosim.data.cell_columns import CellColumn, Structure
from verosim.data.column_kinds import (
    DEFAULT_NUMBER_KIND,
    IGNORE,
    KindDescription,
    kind_named,
    kind_with_name,
    known_kinds,
)
from verosim.data.declared_values import MOST_SHOWN, check_same_values, declared_values
from verosim.data.design_columns import DesignColumn
from verosim.data.schema_checks import check_fields
from verosim.errors import FITTED_SCHEMA_HINT, ONE_SCHEMA_HINT, VerosimError, listed
from verosim.html_table import html_table

if TYPE_CHECKING:
    from verosim.data.cell_formats import Format
    from verosim.typing import ColumnKind

SET_BY_USER = "set by the user"  # the reason if the user chose the kind
CATEGORY_NAME = "category"  # the kind of a column with declared values
WORD_ROLES = (CATEGORY_NAME, "text")  # in these roles, every text is a value
# Of a saved schema. In format 1, which has no number, every date has a trend. Before format 3, all
# frequent values are texts.
SCHEMA_FORMAT = 3


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


@dataclass(frozen=True)
class Schema:
    """The kind of each column of a table, and so how a model reads the table.

    `verosim.look` makes a schema from the first rows of a table. Print it to see the kind of each
    column, the reason, and the points to check. `edit` changes the kind of columns, `save` and
    `load` store the schema in a file, and `fit(…, schema=schema)` uses it. Models that were fitted
    with one schema can be merged.

    A schema is also a collection: `schema["age"]` is the entry of one column, `len(schema)` is the
    number of columns, and a loop gives the entries in order. Schemas do not change: `edit` returns
    a new schema.

    Attributes
    ----------
    columns : tuple of Column
        One entry per column, without the target and the weights. Each entry has the fields `name`,
        `type` (the type in the source), `density` (the kind: "gaussian", "histogram", "poisson",
        "category", "boolean", "date", "date+trend", "text" or "ignore"), `role` ("number",
        "category", "boolean", "date/time", "text" or "ignored"), `reason` (why the column has this
        kind), `note` (a point to check, or ""), `whole` (whether all values are whole numbers),
        `edges` (the edges of the bins of a numeric column), `frequent` (hashes of the most frequent
        categories, if not all are kept), `format` (how the texts of a number or a date are
        written, or ""), `missing` (the texts that are read as missing in this column), `values`
        (the possible values of a category, if they were declared) and `unread` (hashes of texts
        that are read as missing, after `forget`).
    target : str or None
        The name of the target column, or None if the labels are not in the table.
    target_type : {"text", "integer", "boolean"}
        How the labels of the target column are read.
    weight : str or None
        The name of the column of weights, or None.
    na : tuple of str
        The texts that mean missing, in addition to the empty cell.
    max_categories : int
        The number of different values that a category column keeps. The other values share one
        category.
    looked : int
        The number of rows that `look` has read.
    dialect : str
        What was found out about the files, such as "delimiter ';'". It is "" for a plain file.
    spread : bool
        Whether these rows are from all parts of the table, and not the first ones.
    native : {"arrow", "pandas", "polars", "array"}
        The kind of table that `sample` returns.
    named : bool
        Whether the columns have names in the source. The columns of an array have no names.
    cells : tuple of CellColumn
        How columns are read as cells, by models of dependent columns. It is () before such a model
        was fitted.
    structures : tuple of (str, Structure)
        The bins and parents that such models have chosen, by the settings of the model.
    design : tuple of DesignColumn
        How columns become a design matrix, by models with `encode` and by `LiftedLDA`. It is ()
        before such a model was fitted.
    distance : float
        The median squared distance between two rows of the design matrix. It is 0 before a
        `LiftedLDA` was fitted.
    terms : tuple of (str, tuple of str or int)
        The leading terms that `TextRidge` has chosen, by the settings of the model. After `forget`,
        a term that no text has any more is replaced by its hash. The same is done with the values
        in `cells` and `design`.
    names : tuple of str
        The names of the columns.
    used : tuple of Column
        The entries of the columns that a model reads: all except the ignored ones.
    used_names : tuple of str
        The names of the columns that a model reads.

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.5, 2.5, 3.5, 1.0], "hue": ["red", "blue", "red", "red"],
    ...          "kind": ["a", "b", "b", "a"]}
    >>> schema = verosim.look(table, target="kind")
    >>> schema.names
    ('size', 'hue')
    >>> schema["hue"].role, schema["hue"].reason
    ('category', '2 values in 4 rows')
    >>> [column.density for column in schema.edit({"size": "histogram"})]
    ['histogram', 'category']
    >>> model = verosim.NaiveBayes().fit(table, "kind", schema=schema)
    >>> model.predict({"size": [3.0], "hue": ["blue"]})
    array(['b'], dtype='<U1')
    """

    columns: tuple[Column, ...]
    target: str | None = None
    target_type: str = "text"
    weight: str | None = None
    na: tuple[str, ...] = ()
    max_categories: int = 1000
    looked: int = 0
    native: str = "arrow"
    named: bool = True
    cells: tuple[CellColumn, ...] = ()
    structures: tuple[tuple[str, Structure], ...] = ()
    design: tuple[DesignColumn, ...] = ()
    distance: float = 0.0
    terms: tuple[tuple[str, tuple[HashedText, ...]], ...] = ()
    dialect: str = field(default="", compare=False)
    spread: bool = field(default=False, compare=False)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        found = self._by_name.get(name)
        if found is None:
            raise VerosimError(f"Column {name!r} is not in the schema.", near(name, self.names))
        return found

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in reversed(self.columns)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The entries of the columns that a model reads: all except the ignored ones."""
        return self._used

    @cached_property
    def used_names(self) -> tuple[str, ...]:
        """The names of the columns that a model reads."""
        return tuple(column.name for column in self.used)

    @cached_property
    def _used(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.density != IGNORE.name)

    def of(self, *densities: str) -> tuple[Column, ...]:
        """The entries of the columns of some kinds.

        Parameters
        ----------
        *densities : str
            The names of the kinds, such as "gaussian" or "category".

        Returns
        -------
        tuple of Column
            The entries with one of these kinds, in the order of the table.

        Examples
        --------
        >>> from verosim import look
        >>> schema = look({"size": [1.5, 2.5], "hue": ["red", "blue"]})
        >>> [column.name for column in schema.of("category")]
        ['hue']
        """
        return tuple(column for column in self.columns if column.density in densities)

    def edit(self, columns: Mapping[str, ColumnKind | str]) -> Schema:
        """A new schema in which some columns have another kind.

        Parameters
        ----------
        columns : dict from str to str or list
            The new kind by the name of the column: "gaussian", "histogram", "poisson",
            "category", "boolean", "date", "date+trend", "text" or "ignore". A number or a date can
            have a format in quotation marks: 'number "1.234,56"' or 'date "31/12/2024"'. A list
            is a category with exactly these possible values. If the name of the target is given,
            its labels are read as text.

        Returns
        -------
        Schema
            The new schema. This one does not change.

        Raises
        ------
        VerosimError
            If a column or a kind does not exist, or if a column without numbers is to be a
            histogram.

        Examples
        --------
        >>> from verosim import look
        >>> look({"zip": [94103, 10001]}).edit({"zip": "category"})["zip"].role
        'category'
        """
        if not columns:
            return self
        from verosim.data.cell_formats import split_kind  # arrays have no formats

        kinds = {}
        formats: dict[str, Format | None] = {}
        for name, density in columns.items():
            column = None if name == self.target else self[name]
            kinds[name] = kind = as_kind(density, name)
            formats[name] = split_kind(density, name)[1]
            if column is not None and kind.binned and not column.edges:
                raise VerosimError(
                    f"Column {name!r} is ignored, so it has no bins."
                    if column.density == IGNORE.name
                    else f"Column {name!r} was not read as numbers, so it has no bins.",
                    f"Make a new schema: verosim.look(…, columns={{{name!r}: {kind.name!r}}}).",
                )
        changed = tuple(
            _edited(c, kinds[c.name], formats[c.name], columns[c.name]) if c.name in kinds else c
            for c in self.columns
        )
        labels = "text" if self.target in columns else self.target_type
        return with_columns(replace(self, target_type=labels), changed)

    def save(self, path: str | Path) -> None:
        """Write the schema to a JSON file.

        Parameters
        ----------
        path : str or Path
            The file to write.

        Examples
        --------
        >>> import pathlib, tempfile, verosim
        >>> schema = verosim.look({"size": [1.5, 2.5], "hue": ["red", "blue"]})
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "schema.json"
        >>> schema.save(path)
        >>> verosim.Schema.load(path) == schema
        True
        """
        Path(path).write_bytes(self.to_json())

    def to_json(self) -> bytes:
        """Write the schema as JSON. `save` writes the same bytes to a file.

        Returns
        -------
        bytes
            The JSON text, in UTF-8.
        """
        content = {"version": SCHEMA_FORMAT, **asdict(self)}
        text = json.dumps(content, indent=1, ensure_ascii=False)
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:  # a name with half of a character
            return json.dumps(content, indent=1).encode("ascii")

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a file that `save` has written.

        Parameters
        ----------
        path : str or Path
            The file to read.

        Returns
        -------
        Schema
            The schema in the file.

        Raises
        ------
        VerosimError
            If the file does not exist or does not contain a schema.
        """
        try:
            return cls.from_json(Path(path).read_bytes())
        except VerosimError as error:
            raise _not_a_schema(path, error.what, error.hint) from None
        except (OSError, TypeError, ValueError) as error:  # the path can be of any type
            why = str(error)
            raise _not_a_schema(path, f"{why[:1].upper()}{why[1:]}.") from None

    @classmethod
    def from_json(cls, raw: bytes) -> Schema:
        """Read a schema from the bytes of `to_json`.

        Parameters
        ----------
        raw : bytes
            The JSON text, in UTF-8.

        Returns
        -------
        Schema
            The schema.

        Raises
        ------
        VerosimError
            If the text is not the JSON of a schema.
        """
        from verosim.data.cell_formats import parsed_format  # arrays have no formats

        try:
            content = json.loads(raw.decode("utf-8"))
            columns = tuple(Column(**_tuples(column)) for column in content.pop("columns"))
            columns = tuple(
                replace(c, density=as_kind(str(c.density), c.name).name) for c in columns
            )
            for c in columns:
                if c.format:
                    parsed_format(c.format, c.name)
            version = content.pop("version", 1)
            if version < 2:
                columns = with_trends(columns)
            if version < 3:
                most = content.get("max_categories", 1000)
                columns = tuple(without_texts_of_values(c, most) for c in columns)
            cells = tuple(CellColumn(**_tuples(one)) for one in content.pop("cells", ()))
            structures = tuple(
                (key, Structure.from_json(one)) for key, one in content.pop("structures", ())
            )
            design = tuple(DesignColumn(**_tuples(one)) for one in content.pop("design", ()))
            terms = tuple((key, tuple(one)) for key, one in content.pop("terms", ()))
            schema = cls(
                columns, **_tuples(content), cells=cells, structures=structures, design=design,
                terms=terms,
            )  # fmt: skip
            check_fields(schema)
            return schema
        except VerosimError:
            raise
        except KeyError as error:
            raise VerosimError(f"The entry {error} is missing.") from None
        except RecursionError:
            raise VerosimError("Its lists are nested too deeply.") from None
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            why = str(error)
            raise VerosimError(f"{why[:1].upper()}{why[1:]}.") from None

    def check_merges(self, other: Schema) -> None:
        """Raise an error if a model with another schema cannot be merged with one of this schema.

        Two models can be merged if they have the same target and the same missing texts, and if
        they read every column in the same way.

        Parameters
        ----------
        other : Schema
            The schema of the other model.

        Raises
        ------
        VerosimError
            If the models cannot be merged. The message names the column.
        """
        if None not in (self.target, other.target) and self.target != other.target:
            raise VerosimError(
                f"The target is {self.target!r} in this model and {other.target!r} in the other "
                "model.",
                "Merge models with the same target.",
            )
        if set(self.na) != set(other.na):
            raise VerosimError(
                f"The texts that mean missing are {list(self.na)} in this model and "
                f"{list(other.na)} in the other model.",
                ONE_SCHEMA_HINT,
            )
        mine, theirs = ({column.name: column for column in s.used} for s in (self, other))
        for name in [*mine, *theirs]:
            here, there = (s[name].density if name in s else "ignored" for s in (mine, theirs))
            if here == there and mine[name].kind.binned and mine[name].edges != theirs[name].edges:
                raise VerosimError(
                    f"Column {name!r} has other bins in this model than in the other model.",
                    ONE_SCHEMA_HINT,
                )
            if here != there:
                raise VerosimError(
                    f"Column {name!r} is {here} in this model and {there} in the other model.",
                    ONE_SCHEMA_HINT,
                )
            check_same_values(mine[name].values, theirs[name].values, name)
        known = {column.name: column for column in other.cells}
        unlike = [c.name for c in self.cells if not _same_values(c, known.get(c.name))]
        if known and self.cells and (unlike or len(known) != len(self.cells)):
            apart = unlike[0] if unlike else ""
            raise VerosimError(
                f"Column {apart!r} has other cells in this model than in the other model.",
                FITTED_SCHEMA_HINT,
            )
        self._check_same_design(other)
        chosen = dict(other.terms)
        if any(agreed_values(terms, chosen.get(key, terms)) is None for key, terms in self.terms):
            raise VerosimError(
                "The leading terms in this model differ from those in the other model.",
                FITTED_SCHEMA_HINT,
            )

    def _check_same_design(self, other: Schema) -> None:
        """Raise an error if both schemas have a design matrix, and the two are different."""
        if not self.design or not other.design:
            return
        pairs = zip(self.design, other.design, strict=False)
        apart = [a.column for a, b in pairs if not _same_values(a, b)]
        if apart or len(self.design) != len(other.design):
            raise VerosimError(
                f"Column {apart[0] if apart else self.design[-1].column!r} is encoded in another "
                "way in this model than in the other model.",
                FITTED_SCHEMA_HINT,
            )

    def _lines(self) -> list[tuple[str, ...]]:
        """The head of the table, and one line per column."""
        from verosim.data.cell_formats import FORMATTED_ROLES  # arrays have no formats

        lines: list[tuple[str, ...]] = [("column", "type", "role", "density", "why")]
        for c in self.columns:
            density = c.density if c.kind.shown else ""
            role = f'{c.role} "{c.format}"' if c.format and c.role in FORMATTED_ROLES else c.role
            lines.append((c.name, c.type, role, density, c.reason))
        return lines

    def _repr_html_(self) -> str:
        head, *rows = self._lines()
        return html_table("Schema", head, rows, self._notes())

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[i]) for line in lines) for i in range(4)]
        out = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False))
            + "  " + line[4]
            for line in lines
        ]  # fmt: skip
        out.insert(1, "  ".join("─" * width for width in widths) + "  " + "─" * 3)
        return "\n".join(line.rstrip() for line in [*out, *self._notes()])

    def _notes(self) -> list[str]:
        """The lines below the table."""
        out = [
            f"read as one category: {c.name} ({len(c.columns)} columns with exactly one 1 per row)"
            for c in self.cells
            if len(c.columns) > 1
        ]
        out += [
            f"possible values of {c.name}: {listed(list(c.values), MOST_SHOWN)}"
            for c in self.columns
            if c.values
        ]
        if self.target is not None:
            out.append(f"target: {self.target!r} ({self.target_type})")
        if self.weight is not None:
            out.append(f"weights: {self.weight!r}")
        if self.na:
            out.append("missing values: empty cells, " + ", ".join(repr(t) for t in self.na))
        if self.dialect:
            out.append(f"file: {self.dialect}")
        grouped = {name for c in self.cells if len(c.columns) > 1 for name in c.columns}
        asked = [f"  {c.name}: {c.note}" for c in self.columns if c.note and c.name not in grouped]
        if asked:
            out += ["to check:", *asked]
        where = " of all parts of the table" if self.spread else ""
        out.append(f"from {'' if self.spread else 'the first '}{self.looked:,} rows{where}")
        return out

    __repr__ = __str__


def _same_values(mine: Any, theirs: Any) -> bool:
    """Whether two entries are equal. A text and its hash are the same value."""
    if mine == theirs:
        return True
    if type(mine) is not type(theirs) or replace(mine, values=()) != replace(theirs, values=()):
        return False
    return agreed_values(mine.values, theirs.values) is not None


def _edited(column: Column, kind: KindDescription, format_: Format | None, given: Any) -> Column:
    """The entry of a column with another kind, which the user has chosen."""
    if kind == IGNORE:
        return replace(as_ignored(column), reason=SET_BY_USER)
    words = kind.role in WORD_ROLES
    return replace(
        column, density=kind.name, note="", reason=SET_BY_USER,
        format=str(format_ or column.format),
        frequent=column.frequent if kind.role == "category" else (),
        missing=() if words else column.missing, unread=() if words else column.unread,
        values=declared_values(given, column.name),
    )  # fmt: skip


def as_ignored(column: Column) -> Column:
    """The entry of a column that is ignored. It has no value of the column."""
    return Column(column.name, IGNORE.name, column.type, column.reason)


def over_cap_only(schema: Schema, over: Mapping[str, tuple[int, ...]] | None = None) -> Schema:
    """The schema with hashes of frequent values only where the column has too many values.

    `over` has such hashes of columns that have too many values since the schema was made.
    """
    over = over or {}
    if not over and not any(column.frequent for column in schema.columns):
        return schema
    columns = tuple(
        replace(c, frequent=kept)
        if c.frequent != (kept := over.get(c.name, c.frequent if _is_full(c, schema) else ()))
        else c
        for c in schema.columns
    )
    return schema if columns == schema.columns else replace(schema, columns=columns)


def _is_full(column: Column, schema: Schema) -> bool:
    return len(column.frequent) >= schema.max_categories


def _not_a_schema(path: Any, why: str, hint: str | None = None) -> VerosimError:
    return VerosimError(
        f"The file {str(path)!r} is not a schema. {why}",
        hint or "Write a schema with schema.save(path).",
    )


def for_table(
    schema: Any, names: tuple[str, ...], target: str | None, weight: str | None
) -> Schema:
    """The given schema, after a check that the table has its columns."""
    if not isinstance(schema, Schema):
        raise VerosimError(
            f"schema must be a Schema; got {type(schema).__name__}.",
            "Make a schema with verosim.look(source).",
        )
    known = {*names, target, weight}
    lost = [column.name for column in schema.used if column.name not in known]
    if lost:
        named = {*schema.names, target, weight}
        raise VerosimError(
            f"The schema has columns that are not in the table: {listed(lost)}.",
            _rename_or_add(lost[0], tuple(name for name in names if name not in named)),
        )
    columns = tuple(c for c in schema.columns if c.name not in (target, weight))
    return replace(with_columns(schema, columns), target=target, weight=weight)


def _rename_or_add(lost: str, strange: tuple[str, ...]) -> str:
    """A hint for a column that a table lacks: it may have another name there."""
    close = get_close_matches(lost.lower(), [name.lower() for name in strange], 1, 0.6)
    near_name = next((name for name in strange if [name.lower()] == close), None)
    add = f"Add the column {lost!r}; its cells may be empty."
    return add if near_name is None else f"Rename the column {near_name!r} to {lost!r}."


def with_columns(schema: Schema, columns: tuple[Column, ...]) -> Schema:
    """The schema with other columns, without the choices that models made for the old ones."""
    if columns == schema.columns:
        return schema
    return replace(
        schema, columns=columns, cells=(), structures=(), design=(), distance=0.0, terms=()
    )


def schema_of_arrays(columns: Columns, present: tuple[str, ...]) -> Schema:
    """The columns of a model that was fitted on an array: by name, or by position without names."""
    names = columns.names
    if names is None:
        names = present
        if len(names) != columns.size:
            raise VerosimError(
                f"The table has {len(names)} columns, but the model was fitted on an array with "
                f"{columns.size} columns.",
                "Give these columns only, in the order of the array.",
            )
    known = set(present)
    lost = [name for name in names if name not in known]
    if lost:
        raise VerosimError(
            f"These columns are not in the table: {listed(lost)}.", near(lost[0], present)
        )
    return Schema(tuple(Column(name, DEFAULT_NUMBER_KIND) for name in names))


def with_trends(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns of an old schema, in which a date is also a number."""
    return tuple(replace(c, density="date+trend") if c.density == "date" else c for c in columns)


def without_texts_of_values(column: Column, most: int) -> Column:
    """The entry of an old schema, with hashes in place of frequent values."""
    if column.density == IGNORE.name:
        return as_ignored(column)
    texts = [str(value) for value in column.frequent]
    kept = column.role == "category" and len(texts) >= most
    return replace(column, frequent=hashes_of(texts) if kept else ())


def _tuples(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}


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


def check_in_table(name: str, names: tuple[str, ...], what: str) -> None:
    """Raise an error if a column is not one of the names of a table; `what` is its purpose."""
    if name not in names:
        raise VerosimError(f"The {what} {name!r} is not in the table.", near(name, names))


def near(name: str, names: tuple[str, ...]) -> str:
    """A hint with the name that the user probably meant, or with the names that exist."""
    close = get_close_matches(str(name), names, 1, 0.6) or [
        other for other in names if other.lower() == str(name).lower()
    ]
    if close:
        return f"Did you mean {close[0]!r}?"
    shown = ", ".join(repr(other) for other in names[:12])
    return f"Use one of the columns {shown}{' …' if len(names) > 12 else ''}."
