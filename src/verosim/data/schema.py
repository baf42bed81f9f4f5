"""The schema: the kind of each column of a table, and so how a model reads it.

    column → role (number, category, boolean, date, text, ignored) → density, and the reason

A model depends only on the schema and the rows, so two models with one schema can be merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verosim.arguments import checked
from verosim.axes import Columns
from verosim.axes.value_hashes import HashedText
from verosim.cached import cached_property
from verosim.data import schema_json, schema_view
from verosim.data.cell_columns import CellColumn, Structure
from verosim.data.column_kinds import DEFAULT_NUMBER_KIND, IGNORE
from verosim.data.design_columns import DesignColumn
from verosim.data.near_names import near, rename_or_add
from verosim.data.schema_columns import SET_BY_USER, Column, as_kind, edited
from verosim.data.schema_merges import check_merges
from verosim.errors import VerosimError, listed, writing
from verosim.whole_files import whole_file

if TYPE_CHECKING:
    from verosim.data.cell_formats import Format
    from verosim.typing import ColumnKind


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
        return tuple(column for column in self.columns if column.density != IGNORE.name)

    @cached_property
    def used_names(self) -> tuple[str, ...]:
        """The names of the columns that a model reads."""
        return tuple(column.name for column in self.used)

    @checked
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

    @checked
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
        return with_kinds(self, columns, SET_BY_USER)

    @checked
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
        with writing(path), whole_file(path) as file:
            file.write(self.to_json())

    def to_json(self) -> bytes:
        """Write the schema as JSON. `save` writes the same bytes to a file.

        Returns
        -------
        bytes
            The JSON text, in UTF-8.
        """
        return schema_json.to_json(self)

    @classmethod
    @checked
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
    @checked
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
        return schema_json.from_json(raw, cls)

    @checked
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
        check_merges(self, other)

    def __str__(self) -> str:
        return schema_view.text(self)

    def _repr_html_(self) -> str:
        return schema_view.html(self)

    __repr__ = __str__


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
            rename_or_add(lost[0], tuple(name for name in names if name not in named)),
        )
    columns = tuple(c for c in schema.columns if c.name not in (target, weight))
    return replace(with_columns(schema, columns), target=target, weight=weight)


def with_kinds(schema: Schema, columns: Mapping[str, ColumnKind | str], reason: str) -> Schema:
    """The schema in which some columns have another kind, for a reason that is shown."""
    if not columns:
        return schema
    from verosim.data.cell_formats import split_kind  # arrays have no formats

    kinds = {}
    formats: dict[str, Format | None] = {}
    for name, density in columns.items():
        column = None if name == schema.target else schema[name]
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
        edited(c, kinds[c.name], formats[c.name], columns[c.name], reason) if c.name in kinds else c
        for c in schema.columns
    )
    labels = "text" if schema.target in columns else schema.target_type
    return with_columns(replace(schema, target_type=labels), changed)


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
