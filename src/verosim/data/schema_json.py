"""A schema as JSON, in this format and in older ones."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from verosim.axes.value_hashes import hashes_of
from verosim.data.cell_columns import CellColumn, Structure
from verosim.data.column_kinds import IGNORE
from verosim.data.design_columns import DesignColumn
from verosim.data.schema_checks import check_fields
from verosim.data.schema_columns import Column, as_ignored, as_kind
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from verosim.data.schema import Schema

# Of a saved schema. In format 1, which has no number, every date has a trend. Before format 3, all
# frequent values are texts.
SCHEMA_FORMAT = 3


def to_json(schema: Schema) -> bytes:
    """The JSON text of a schema, in UTF-8."""
    content = {"version": SCHEMA_FORMAT, **asdict(schema)}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # a name with half of a character
        return json.dumps(content, indent=1).encode("ascii")


def from_json(raw: bytes, made: type[Schema]) -> Schema:
    """The schema with a JSON text; `made` is the class of schemas."""
    from verosim.data.cell_formats import parsed_format  # arrays have no formats

    try:
        content = json.loads(raw.decode("utf-8"))
        columns = tuple(Column(**_tuples(column)) for column in content.pop("columns"))
        columns = tuple(replace(c, density=as_kind(str(c.density), c.name).name) for c in columns)
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
        schema = made(
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
