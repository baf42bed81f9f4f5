"""Discriminant analysis of whole tables: `encode` reads a table as a design matrix.

    numbers standardised or as normal scores, categories one-hot, missing cells with flags

The description of the matrix is chosen from the first rows without labels and kept in the schema.
Two models with one schema can be merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from verosim.cached import cached_property
from verosim.data.design_columns import SCORE, STANDARD
from verosim.data.schema import Schema
from verosim.errors import VerosimError
from verosim.estimators.discriminant import FullSpec, LDASpec, RDASpec
from verosim.kinds.design_look import with_design
from verosim.kinds.design_reader import DesignReader
from verosim.kinds.first_rows import FirstRows

if TYPE_CHECKING:
    from verosim.densities import EMGaussian, FullGaussian

ONEHOT, NORMAL = "onehot", "normal"  # the values of `encode`


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedSpec(FullSpec):
    """The settings of QDA on a design matrix."""

    reads_values = True
    reads_only_tables = True
    forms_of_normal: ClassVar[tuple[str, ...]] = (SCORE,)  # how encode="normal" gives numbers

    @property
    def allows_missing(self) -> bool:
        return True

    @property
    def is_density(self) -> bool:
        return False

    def look_closer(self, schema: Schema, first: FirstRows) -> Schema:
        self.check_encode()
        return with_design(schema, first)

    @property
    def reading(self) -> str:
        return f"design {self._forms}"

    @property
    def _forms(self) -> tuple[str, ...]:
        return self.forms_of_normal if self.encode == NORMAL else (STANDARD,)

    def reader(self, schema: Schema) -> DesignReader:
        self.check_encode()
        return DesignReader(schema, self._forms)

    def columns_read(self, schema: Schema) -> set[str]:
        return {column.column for column in schema.design}

    def check_encode(self) -> None:
        """Check `encode` and the settings that cannot be used together with it."""
        if self.encode not in (ONEHOT, NORMAL):
            raise VerosimError(
                f"encode must be None, 'onehot' or 'normal'; got {self.encode!r}.",
                "Use encode='onehot'.",
            )
        if self.uses_em:
            raise VerosimError(
                f"missing='marginalise' cannot be used together with encode={self.encode!r}, "
                "which gives missing cells columns of their own.",
                "Use missing='error'.",
            )
        if self.robust:
            raise VerosimError(
                f"robust=True cannot be used together with encode={self.encode!r}.",
                "Use robust=False.",
            )

    @cached_property
    def density(self) -> FullGaussian | EMGaussian:
        self.check_encode()
        return super().density


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedRDASpec(EncodedSpec, RDASpec):
    """The settings of RDA on a design matrix."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedLDASpec(EncodedSpec, LDASpec):
    """The settings of LDA on a design matrix. Its scores are linear in numbers and their scores."""

    forms_of_normal = (STANDARD, SCORE)
