"""Sufficient statistics: vectors with labelled axes. They add, subtract, scale and align."""

from verosim.stats.base import Field, Statistic
from verosim.stats.counts import Counts
from verosim.stats.moments import Moments
from verosim.stats.patterns import Patterns
from verosim.stats.product import Product
from verosim.stats.tokens import Tokens

__all__ = ["Counts", "Field", "Moments", "Patterns", "Product", "Statistic", "Tokens"]
