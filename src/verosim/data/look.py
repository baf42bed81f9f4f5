"""The first look: from the types and the first rows of a table to its schema.

Types decide where they can. What they leave open the rows do: text that is all numbers in a CSV,
dates as text, identifiers, words against free text; and whether a number is better described, for
the sake of the classes, by a Gaussian or by a histogram. What was guessed, and what was not dared,
is said in the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.axes.bins import edges_of
from verosim.data import cells
from verosim.data.adapters import open_table
from verosim.data.batch import UNWEIGHTED
from verosim.data.choice import USUAL, choose_density
from verosim.data.schema import Column, Schema, as_density, near
from verosim.data.stream import weights_of
from verosim.data.tables import Rows, Table
from verosim.errors import VerosimError, listed

if TYPE_CHECKING:
    import pyarrow as pa

LOOK = 50_000  # rows
ENOUGH = 20  # rows below which nothing is called an identifier
SURE = 50  # rows, all of them different, that look like identifiers
CODES = 100  # distinct numbers that may be edited to categories
FEW = 20  # whole numbers that may be codes
NUMBERS = ("gaussian", "histogram")  # densities all numbers can be given at once
ASK = '"auto", "gaussian" or "histogram" for all numbers, or a dict such as {"zip": "category"}.'
WORDS = 4.0  # words a cell, on average, that make a text


def look(
    source: Any,
    target: str | None = None,
    *,
    columns: str | Mapping[str, str] = "auto",
    weight: str | None = None,
    na: Any = (),
    rows: int = LOOK,
    max_categories: int = 1000,
    labels: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Schema:
    """Look at the first rows of a source and say what each column is.

    Parameters
    ----------
    source : any table: see :func:`verosim.query` and the page on tables
    target : the column to predict; it helps to choose between a Gaussian and a histogram
    columns : "auto"; "gaussian" or "histogram" for all numbers; or {name: density} where you know
        better: gaussian, histogram, category, boolean, poisson, date, text or ignore
    weight : the column of row weights
    na : texts that mean missing, besides the empty cell
    rows : how many rows to look at
    max_categories : how many values a category column keeps; the rest share one bucket
    labels, weights : arrays, where they are not columns of the table

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.5, 2.5, 3.5, 1.0], "hue": ["red", "blue", "red", "red"],
    ...          "kind": ["a", "b", "b", "a"]}
    >>> print(verosim.look(table, target="kind"))
    column  type    role      density   why
    ──────  ──────  ────────  ────────  ───
    size    double  number    gaussian  numbers
    hue     string  category  category  2 values in 4 rows
    target: 'kind' (text)
    from the first 4 rows
    """
    if isinstance(source, Iterator) or hasattr(source, "read_next_batch"):
        raise VerosimError(
            "Looking at this source would use up its first rows: it can be read only once.",
            "look at a file, a table, or the first piece of the stream.",
        )
    table = open_table(source)
    check_columns(table.names, target, weight, columns)
    if not isinstance(rows, int) or rows < 1:
        raise VerosimError(f"rows={rows!r}: a whole number of rows to look at, one or more.")
    marks = as_na(na)
    sample = table.head(rows)
    arrays = {name: _column(sample, name, rows) for name in table.names}
    looked = min(sum(part.batch.num_rows for part in sample), rows)
    if not looked:
        raise VerosimError(
            "The table has no rows.", "is it the right one, or a reader that was read before?"
        )
    if weight is not None:
        weights = np.concatenate([weights_of(weight, part) for part in sample])
    if weights is not None and (weights[:looked] > 0).any():
        weights = weights[:looked]
        counted = np.flatnonzero(weights > 0)  # rows of zero weight do not exist
        arrays = {name: array.take(counted) for name, array in arrays.items()}
        weights = weights[counted]
        labels = labels if labels is None else labels[:looked][counted]
    given = {} if isinstance(columns, str) else dict(columns)
    target_type = "text"
    labels = labels if labels is None else labels[:looked]
    if target is not None:
        target_type = _target_type(arrays[target], table.typed, frozenset(marks))
        if target in given:
            target_type = "text"
        try:
            labels = cells.keys(arrays[target], frozenset(marks))[0]
        except cells.Unreadable as error:
            raise VerosimError(
                f"The target {target!r}, row {error.row}: {error.value!r} is not {error.wanted}.",
                "labels are strings, whole numbers or booleans.",
            ) from None
    weights = UNWEIGHTED if weights is None else weights
    declared = {
        name
        for part in sample
        for name in table.names
        if _declared(part.batch.column(name), table.coded)
    }
    judge = _Judge(frozenset(marks), table.typed, labels, weights, max_categories, declared)
    found = tuple(
        judge.column(name, arrays[name], given.get(name))
        for name in table.names
        if name not in (target, weight)
    )
    schema = Schema(found, target, target_type, weight, marks, max_categories, looked, table.native)
    if columns in NUMBERS:
        schema = schema.edit({c.name: str(columns) for c in schema.used if c.density in NUMBERS})
    return schema


def _declared(array: pa.Array, coded: bool) -> bool:
    """Whether the type says the column is a category."""
    import pyarrow as pa

    if not isinstance(array, pa.DictionaryArray):
        return False
    return not (coded and cells.is_text(array.type))


def as_na(na: Any) -> tuple[str, ...]:
    """The texts that mean missing, as the user gave them: one or several."""
    if isinstance(na, str | int | float | np.number):
        na = (na,)
    if isinstance(na, Mapping):
        raise VerosimError(
            "na is a list of texts for the whole table, not a dict.", "na=['?', 'unknown']."
        )
    plain = [mark.item() if isinstance(mark, np.generic) else mark for mark in na or ()]
    forms = [form for mark in plain for form in (str(mark), cells.text_of(mark)) if form]
    return tuple(dict.fromkeys(forms))


def check_columns(
    names: tuple[str, ...], target: str | None, weight: str | None, columns: Any
) -> None:
    for name, what in ((target, "target"), (weight, "column of weights")):
        if name is not None and name not in names:
            raise VerosimError(f"The {what} {name!r} is not in the table.", near(name, names))
    if target is not None and target == weight:
        raise VerosimError(f"{target!r} cannot be both the target and the weights.")
    if isinstance(columns, str):
        if columns not in ("auto", *NUMBERS):
            raise VerosimError(f"columns={columns!r} is not known.", ASK)
        return
    if not isinstance(columns, Mapping):
        raise VerosimError(f"columns={columns!r} is not known.", ASK)
    for name, density in columns.items():
        if name not in names:
            raise VerosimError(f"columns: there is no column {name!r}.", near(name, names))
        as_density(density, name)


def _column(sample: list[Rows], name: str, rows: int) -> pa.Array:
    import pyarrow as pa

    chunks = [cells.plain(part.batch.column(name)) for part in sample]
    types = {chunk.type for chunk in chunks}
    if len(types) > 1:  # slices of a frame of objects may differ: text holds them all
        try:
            chunked = pa.concat_tables(
                [pa.table({"x": chunk}) for chunk in chunks], promote_options="permissive"
            ).column("x")
            return cells.plain(chunked)[:rows]
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            texts = [cells.text_of(v) for chunk in chunks for v in chunk.to_pylist()]
            return pa.array(texts, pa.large_string())[:rows]
    return pa.concat_arrays(chunks)[:rows] if chunks else pa.nulls(0)


def target_type(table: Table, target: str, na: frozenset[str], rows: int = LOOK) -> str:
    """What kind of labels a column of a table holds."""
    return _target_type(_column(table.head(rows), target, rows), table.typed, na)


def _target_type(array: pa.Array, typed: bool, na: frozenset[str]) -> str:
    """integer, boolean or text: a CSV's text becomes a value only if it prints back the same."""
    kind = cells.kind_of_type(array.type)
    if kind in ("boolean", "number"):
        return "boolean" if kind == "boolean" else "integer"
    if typed:
        return "text"
    texts = {text for text in cells.keys(array, na)[1] if text is not None}  # 1.0 as 1
    if texts and texts <= {"True", "False"}:
        return "boolean"
    return "integer" if texts and all(_is_integer(text) for text in texts) else "text"


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdecimal() and text.isascii() and str(int(text)) == text and (
        abs(int(text)) < 2**63
    )  # fmt: skip


class _Judge:
    """Says what a column is."""

    def __init__(
        self,
        na: frozenset[str],
        typed: bool,
        labels: np.ndarray | None,
        weights: np.ndarray,
        cap: int,
        declared: set[str],
    ) -> None:
        self.na, self.typed, self.cap = na, typed, cap
        self.labels, self.weights = labels, weights
        self.declared = declared  # columns whose type says they are categories

    def column(self, name: str, array: pa.Array, given: str | None) -> Column:
        shown = str(array.type) if self.typed else "text"
        shown = "category" if name in self.declared else shown
        kind = cells.kind_of_type(array.type)
        try:
            found = self._judged(name, array, kind)
        except cells.Unreadable as error:
            raise VerosimError(
                f"Column {name!r}, row {error.row}: {error.value!r} is not {error.wanted}."
            ) from None
        if given is not None:
            density = as_density(given, name)
            if density != found.density:
                found = replace(found, density=density, note="")
                if density in ("gaussian", "histogram", "poisson") and not found.edges:
                    found = self._as_number(found, array)
                elif density == "category":
                    found = self._as_words(found, array)
            found = replace(found, reason="you said so")
        return replace(found, type=_short(shown))

    def _judged(self, name: str, array: pa.Array, kind: str) -> Column:
        if kind in ("boolean", "time") and array.null_count == len(array):
            return Column(name, "ignore", reason=f"missing in all {len(array):,} rows")
        if kind == "boolean":
            return Column(name, "boolean", reason="true or false")
        if kind == "time":
            return Column(name, "date", reason="dates: hour, weekday, month and a number")
        if kind == "number" and name in self.declared:
            return replace(self._as_words(Column(name, "category"), array), reason="a categorical")
        if kind == "number":
            return self._number(name, array)
        if kind == "text":
            return self._text(name, array)
        if kind == "nothing":
            return Column(name, "ignore", reason="no values")
        return Column(name, "ignore", reason=f"{_short(str(array.type))} is no kind of column",
                      note="ignored: lists, structs and bytes are not read")  # fmt: skip

    def _number(self, name: str, array: pa.Array) -> Column:
        x = cells.numbers(array, self.na)
        seen = x[np.isfinite(x)]
        if not len(seen):
            return Column(name, "ignore", reason=f"missing in all {len(x):,} rows")
        whole = bool((seen == np.floor(seen)).all())
        distinct = np.unique(seen)
        n = len(seen)
        if whole and n >= ENOUGH and len(distinct) == n == len(x):
            steps = np.diff(seen)
            if (steps == 1).all() or (steps == -1).all():
                return Column(name, "ignore", reason="numbers the rows: an identifier")
        density, edges, why = choose_density(x, self.labels, self.weights)
        note = ""
        if len(distinct) == 1:
            why = f"constant ({cells.text_of(distinct[0])}): carries no information"
        elif whole and len(distinct) <= FEW and n >= 5 * len(distinct):
            shown = ", ".join(str(cells.text_of(v)) for v in distinct[:6])
            more = ", …" if len(distinct) > 6 else ""
            kind = "boolean" if set(distinct.tolist()) <= {0.0, 1.0} else "category"
            note = (
                f"only the whole numbers {shown}{more}; a code? then columns={{{name!r}: {kind!r}}}"
            )
        elif whole and n >= SURE and len(distinct) == n == len(x):
            note = f"all different; an identifier? then columns={{{name!r}: 'ignore'}}"
        # Kept for whoever edits it to a category.
        few = distinct.tolist() if len(distinct) <= CODES else ()
        frequent = tuple(str(cells.text_of(v)) for v in few)
        return Column(
            name, density, reason=why, note=note, whole=whole, edges=edges, frequent=frequent
        )

    def _as_number(self, column: Column, array: pa.Array) -> Column:
        try:
            x = cells.numbers(array, self.na)
        except cells.Unreadable as error:
            raise VerosimError(
                f"Column {column.name!r}, row {error.row}: {error.value!r} is not a number.",
                f"na=[{error.value!r}] if it means missing.",
            ) from None
        seen = x[np.isfinite(x)]
        column = replace(column, whole=bool((seen == np.floor(seen)).all()))
        return replace(column, edges=tuple(edges_of(x, self.weights, USUAL).tolist()))

    def _seen(self, array: pa.Array) -> dict[str, int]:
        """How often each text occurs."""
        index, texts = cells.keys(array, self.na)
        count = np.bincount(index, minlength=len(texts))
        return {text: int(c) for text, c in zip(texts, count, strict=True) if text and c}

    def _text(self, name: str, array: pa.Array) -> Column:
        seen = self._seen(array)
        n = sum(seen.values())
        if not n:
            return Column(name, "ignore", reason=f"missing in all {len(array):,} rows")
        if all(cells.DATE.fullmatch(text) for text in seen):
            return Column(name, "date", reason="dates: hour, weekday, month and a number")
        if not self.typed:
            if all(cells.NUMBER.fullmatch(t) and not cells.PADDED.match(t) for t in seen):
                return self._number(name, array)
            if len(seen) <= 4 and all(text.lower() in cells.TRUTHS for text in seen):
                return Column(name, "boolean", reason="true or false")
        words = sum(len(text.split()) * c for text, c in seen.items()) / n
        if words >= WORDS and len(seen) > max(n / 2, 2):
            return Column(name, "text", reason=f"{words:.0f} words a cell, nearly all different")
        if len(seen) == n and n >= ENOUGH:
            return Column(name, "ignore", reason=f"all {n:,} values differ: an identifier")
        return self._words(name, seen, n)

    def _words(self, name: str, seen: dict[str, int], n: int) -> Column:
        reason = f"{len(seen):,} value{'s' if len(seen) != 1 else ''} in {n:,} rows"
        if len(seen) == 1:
            reason = f"constant ({next(iter(seen))}): carries no information"
        note = ""
        odd = [text for text in seen if not cells.NUMBER.fullmatch(text)]
        if len(seen) > 5 and len(odd) <= max(3, len(seen) // 20) and not self.typed:
            note = f"numbers but for {listed(odd, 3)}; missing? then na={odd[:3]!r}"
        elif len(seen) > 5 and not odd:
            note = f"numbers written as text; then columns={{{name!r}: 'gaussian'}}"
        elif len(seen) > self.cap:
            reason = f"{len(seen):,} values in {n:,} rows, {self.cap:,} kept"
        elif len(seen) > 0.5 * n and n >= ENOUGH:
            note = f"{len(seen):,} different values in {n:,} rows; an identifier?"
        ranked = sorted(seen, key=lambda text: (-seen[text], text))
        frequent = tuple(ranked[: self.cap])  # what comes later does not push them out
        return Column(name, "category", reason=reason, note=note, frequent=frequent)

    def _as_words(self, column: Column, array: pa.Array) -> Column:
        seen = self._seen(array)
        return replace(column, frequent=self._words(column.name, seen, len(array)).frequent)


def _short(type_: str) -> str:
    return "category" if type_.startswith("dictionary") else type_.replace("large_", "")
