"""Sufficient statistics: sums over rows, stored as arrays with labelled axes.

Statistics can be added, subtracted, scaled and moved to wider axes.
"""

from verosim.stats.arrays import ArrayStatistic
from verosim.stats.contexts import Contexts
from verosim.stats.counts import Counts
from verosim.stats.fields import Field
from verosim.stats.lifted import LiftedMoments
from verosim.stats.moments import Moments
from verosim.stats.pairs import Pairs
from verosim.stats.patterns import Patterns
from verosim.stats.product import Product, Several
from verosim.stats.state import from_state, restorable
from verosim.stats.statistic import Statistic
from verosim.stats.term_products import TermProducts
from verosim.stats.tokens import Tokens

__all__ = [
    "ArrayStatistic",
    "Contexts",
    "Counts",
    "Field",
    "LiftedMoments",
    "Moments",
    "Pairs",
    "Patterns",
    "Product",
    "Several",
    "Statistic",
    "TermProducts",
    "Tokens",
    "from_state",
    "restorable",
]
