"""A model as values and functions: a spec, the rows it reads, and the state it learns from them.

    open_rows(spec, inputs) → Opened(source, plan, schema)
    summarise(source, plan) → statistic
    derive(spec, statistic, schema) → State

The estimators are thin scikit-learn classes that call these functions.
"""

from verosim.models.learning import add_rows, decay, forget_rows, learn, merge, prune
from verosim.models.opening import Inputs, Opened, open_rows, open_to_score, reads_table
from verosim.models.spec import Spec, share_statistic
from verosim.models.state import State, derive, derive_rules

__all__ = [
    "Inputs",
    "Opened",
    "Spec",
    "State",
    "add_rows",
    "decay",
    "derive",
    "derive_rules",
    "forget_rows",
    "learn",
    "merge",
    "open_rows",
    "open_to_score",
    "prune",
    "reads_table",
    "share_statistic",
]
