"""The terms of a program: the scores of a model, written down as data.

    s_k(x) = Σ_t s_tk(x),   one term t for each column or block of columns

A density states its terms in its method `terms`, beside `log_density`. A term is a small value with
arrays, and it can evaluate itself in plain numpy. Nothing else has to look inside a density.
"""

from verosim.densities.terms.average import AverageTerm
from verosim.densities.terms.base import Scored, Term
from verosim.densities.terms.blocks import AmountsTerm, LinearTerm
from verosim.densities.terms.codes import CodeTerm, CombinationTerm, PairTerm, WidthTerm
from verosim.densities.terms.composed import LogSumExpTerm, SumTerm
from verosim.densities.terms.contexts import ContextTerm
from verosim.densities.terms.evidence import EvidenceTerm
from verosim.densities.terms.features import FeaturesTerm
from verosim.densities.terms.lengths import AmountsLength, RowLength, WordsLength
from verosim.densities.terms.numbers import BinsTerm, GaussianTerm, PoissonTerm, PresenceTerm
from verosim.densities.terms.polynomial import PolynomialTerm
from verosim.densities.terms.quadratic import QuadraticTerm
from verosim.densities.terms.tempered import TemperedTerm
from verosim.densities.terms.tokens import HashedTokens, ListedTokens, TokenRows, TokensTerm
from verosim.densities.terms.values import LookupTerm, Overflow

__all__ = [
    "AmountsLength",
    "AmountsTerm",
    "AverageTerm",
    "BinsTerm",
    "CodeTerm",
    "CombinationTerm",
    "ContextTerm",
    "EvidenceTerm",
    "FeaturesTerm",
    "GaussianTerm",
    "HashedTokens",
    "LinearTerm",
    "ListedTokens",
    "LogSumExpTerm",
    "LookupTerm",
    "Overflow",
    "PairTerm",
    "PoissonTerm",
    "PolynomialTerm",
    "PresenceTerm",
    "QuadraticTerm",
    "RowLength",
    "Scored",
    "SumTerm",
    "TemperedTerm",
    "Term",
    "TokenRows",
    "TokensTerm",
    "WidthTerm",
    "WordsLength",
]
