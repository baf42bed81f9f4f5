"""Densities: they estimate the parameters of p(x | k) from a statistic, and score rows with them.

statistic → density.estimate → parameters → log p(x | k)
"""

from verosim.densities.base import (
    ClassScores,
    Density,
    LinearForm,
    Params,
    estimate_all,
    not_a_number,
)
from verosim.densities.columns import Bernoulli, Complement, Contrast, Multinomial
from verosim.densities.context_tables import ContextDensity
from verosim.densities.discrete import Categorical
from verosim.densities.em import Convergence, EMGaussian, EMParams
from verosim.densities.features import Expansion
from verosim.densities.full import FullGaussian
from verosim.densities.full_params import FullParams
from verosim.densities.gaussian import DiagonalGaussian, DiagonalParams
from verosim.densities.histogram import Histogram, JointHistogramDensity
from verosim.densities.lifted import LiftedGaussian, LiftedScores
from verosim.densities.one_dependence import OneDependence
from verosim.densities.poisson import Poisson
from verosim.densities.product import ProductDensity
from verosim.densities.term_ridge import TermRidge, TermScores

__all__ = [
    "Bernoulli",
    "Categorical",
    "ClassScores",
    "Complement",
    "ContextDensity",
    "Contrast",
    "Convergence",
    "Density",
    "DiagonalGaussian",
    "DiagonalParams",
    "EMGaussian",
    "EMParams",
    "Expansion",
    "FullGaussian",
    "FullParams",
    "Histogram",
    "JointHistogramDensity",
    "LiftedGaussian",
    "LiftedScores",
    "LinearForm",
    "Multinomial",
    "OneDependence",
    "Params",
    "Poisson",
    "ProductDensity",
    "TermRidge",
    "TermScores",
    "estimate_all",
    "not_a_number",
]
