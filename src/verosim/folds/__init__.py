"""Held-out scoring: each row is scored by a model of other rows, computed from sums."""

from verosim.folds.engine import HeldOutEngine, refits, reweighted
from verosim.folds.holdout import HeldOutRows, HoldOut
from verosim.folds.inputs import inputs_of
from verosim.folds.rules import FoldRules, Visited
from verosim.folds.tuning import fit
from verosim.folds.warnings import first_warning_only

__all__ = [
    "FoldRules",
    "HeldOutEngine",
    "HeldOutRows",
    "HoldOut",
    "Visited",
    "first_warning_only",
    "fit",
    "inputs_of",
    "refits",
    "reweighted",
]
