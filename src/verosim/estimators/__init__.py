"""The generative classifiers, with the interface of scikit-learn."""

from verosim.estimators.aode import AODE
from verosim.estimators.bernoulli_nb import BernoulliNB
from verosim.estimators.categorical_nb import CategoricalNB
from verosim.estimators.complement_nb import ComplementNB
from verosim.estimators.gaussian_nb import GaussianNB
from verosim.estimators.histogram_nb import HistogramNB
from verosim.estimators.joint_histogram import JointHistogram
from verosim.estimators.kdb import KDB
from verosim.estimators.lda import LDA
from verosim.estimators.lifted_lda import LiftedLDA
from verosim.estimators.mda import MDA
from verosim.estimators.multinomial_nb import MultinomialNB
from verosim.estimators.naive_lda import NaiveLDA
from verosim.estimators.qda import QDA
from verosim.estimators.rda import RDA
from verosim.estimators.table import NaiveBayes
from verosim.estimators.tan import TAN
from verosim.estimators.text_nb import TextNB
from verosim.estimators.text_ridge import TextRidge

__all__ = [
    "AODE",
    "KDB",
    "LDA",
    "MDA",
    "QDA",
    "RDA",
    "TAN",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "HistogramNB",
    "JointHistogram",
    "LiftedLDA",
    "MultinomialNB",
    "NaiveBayes",
    "NaiveLDA",
    "TextNB",
    "TextRidge",
]
