"""The kinds of columns. Each kind has one file and one entry in the list of `registry.py`."""

from verosim.data.schema import Schema
from verosim.kinds.base import Kind, Member, Part, PartKind, Settings, View
from verosim.kinds.product import density, plan
from verosim.kinds.reader import MixedReader
from verosim.kinds.registry import column_kinds, column_labels, part_kinds, registered
from verosim.kinds.sampling import as_table, gap_rates

__all__ = [
    "Kind",
    "Member",
    "MixedReader",
    "Part",
    "PartKind",
    "Schema",
    "Settings",
    "View",
    "as_table",
    "column_kinds",
    "column_labels",
    "density",
    "gap_rates",
    "part_kinds",
    "plan",
    "registered",
]
