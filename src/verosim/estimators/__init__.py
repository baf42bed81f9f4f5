"""The scikit-learn face of the library."""

from verosim.estimators.discriminant import LDA, QDA, RDA
from verosim.estimators.gaussian import GaussianNB, NaiveLDA
from verosim.estimators.histogram import HistogramNB, JointHistogram
from verosim.estimators.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from verosim.estimators.table import NaiveBayes
from verosim.estimators.text import TextNB

__all__ = [
    "LDA",
    "QDA",
    "RDA",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "HistogramNB",
    "JointHistogram",
    "MultinomialNB",
    "NaiveBayes",
    "NaiveLDA",
    "TextNB",
]
