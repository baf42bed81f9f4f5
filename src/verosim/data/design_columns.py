"""Columns as a design matrix: every column of a table becomes one or more columns of numbers.

    number    (x − mean)/deviation, its normal score, 1 where it is missing
    boolean   0 or 1, 1 where it is missing
    category  1 for each frequent value, for all other values, and where it is missing

The description is chosen without labels from the first rows. It is part of the schema.
"""

from __future__ import annotations

from dataclasses import dataclass

from verosim.axes.value_hashes import HashedText

NUMBER_COLUMN, FLAG_COLUMN, CATEGORY_COLUMN = "number", "flag", "category"
MOST_ONE_HOT = 60  # values of a category that have a column of their own
LEVELS = 101  # quantiles that describe the distribution of a number

# How a number is given: standardised, as a normal score, or both.
STANDARD, SCORE = "standard", "score"


@dataclass(frozen=True)
class DesignColumn:
    """One column of the rows as they are read, and how it becomes columns of a design matrix."""

    name: str
    column: str  # of the table
    part: str  # the part of the row that has its values
    kind: str  # "number", "flag" or "category"
    mean: float = 0.0
    deviation: float = 1.0
    quantiles: tuple[float, ...] = ()  # of a number
    # Of a category, the most frequent first. It is a hash if its rows were forgotten.
    values: tuple[HashedText, ...] = ()
    others: bool = False  # whether all other values of a category share a column
    missing: bool = False  # whether missing cells have a column

    def names(self, forms: tuple[str, ...] = (STANDARD,), every: bool = False) -> tuple[str, ...]:
        """The names of its columns in the design matrix.

        `forms` are the forms in which numbers are given. The most frequent value of a category has
        a column only if `every` is true.
        """
        out = []
        if self.kind == NUMBER_COLUMN:
            labels = {STANDARD: self.name, SCORE: f"{self.name} (normal score)"}
            out += [labels[form] for form in forms]
        elif self.kind == FLAG_COLUMN:
            out.append(self.name)
        else:
            first = 1 if every else 2
            out += [
                f"{self.name} = {value if isinstance(value, str) else f'forgotten value {at}'}"
                for at, value in enumerate(self.shown(every), first)
            ]
            out += [f"{self.name} = other values"] * self.others
        return (*out, *([f"{self.column} is missing"] * self.missing))

    def shown(self, every: bool) -> tuple[HashedText, ...]:
        """The values of a category that have a column."""
        return self.values if every else self.values[1:]
