"""Bayes' rule: priors and densities in, joint, posterior, evidence and samples out."""

from verosim.bayes.boundary import Quadratic, boundary
from verosim.bayes.linear import LinearScores, signed_distances
from verosim.bayes.priors import log_priors
from verosim.bayes.rule import Decision, Rule

__all__ = [
    "Decision",
    "LinearScores",
    "Quadratic",
    "Rule",
    "boundary",
    "log_priors",
    "signed_distances",
]
