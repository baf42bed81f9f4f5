"""Sufficient statistics: vectors with labelled axes. They add, subtract, scale and align."""

from verosim.stats.base import Field, Statistic
from verosim.stats.counts import Counts
from verosim.stats.moments import Moments
from verosim.stats.product import Product

__all__ = ["Counts", "Field", "Moments", "Product", "Statistic"]
