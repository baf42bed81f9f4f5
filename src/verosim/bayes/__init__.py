"""Bayes' rule: from priors and densities to scores, posteriors, densities of rows, and samples.

    p(k | x) = π_k p(x | k) / Σ_j π_j p(x | j)

Reference: Duda, Hart & Stork (2001), Pattern Classification, §2.1–2.4.
"""

from verosim.bayes.boundary import Quadratic, boundary
from verosim.bayes.conics import Conic, ConicPiece
from verosim.bayes.covariance import Covariance
from verosim.bayes.ellipse import Ellipse
from verosim.bayes.learned import Learned, LearnedTable
from verosim.bayes.linear import LinearScores, signed_distances
from verosim.bayes.priors import log_priors
from verosim.bayes.program import Program
from verosim.bayes.rule import Decision, Rule

__all__ = [
    "Conic",
    "ConicPiece",
    "Covariance",
    "Decision",
    "Ellipse",
    "Learned",
    "LearnedTable",
    "LinearScores",
    "Program",
    "Quadratic",
    "Rule",
    "boundary",
    "log_priors",
    "signed_distances",
]
