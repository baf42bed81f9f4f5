"""verosim: generative classification. Read the data once; everything after is algebra.

>>> import verosim
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> model = verosim.LDA().fit(X, y)
>>> model.predict(X[:1])
array([0])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "verosim.estimators": (
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
    ),
    "verosim.validate.cross_validation": ("CrossValidation", "cross_validate"),
    "verosim.validate.search": ("Search", "path", "search"),
    "verosim.validate.select": ("Selection", "select"),
    "verosim.pool.auto": ("auto", "bic"),
    "verosim.validate.calibration": ("Calibrated", "calibrate"),
    "verosim.validate.conformal": ("Conformal", "conformal"),
    "verosim.validate.diagnose": ("Diagnosis", "Finding", "diagnose"),
    "verosim.validate.reject": ("Reject", "reject"),
    "verosim.validate.reliability": ("Reliability", "reliability"),
    "verosim.validate.semi": ("SemiSupervised",),
    "verosim.twins.least_squares": ("LeastSquares",),
    "verosim.twins.logistic": ("LogisticRegression",),
    "verosim.twins.perceptron": ("Perceptron",),
    "verosim.twins.svm": ("LinearSVM",),
    "verosim.twins.multiclass": ("OneVsOne", "OneVsRest"),
    "verosim.twins.twin": ("Twin", "twin"),
    "verosim.twins.gap": ("Gap", "generative_gap"),
    "verosim.twins.comparison.compare": ("compare",),
    "verosim.twins.comparison.curves": ("Comparison",),
    "verosim.twins.whiten": ("Whiten",),
    "verosim.bayes": (
        "Quadratic",
        "parameter_counts",
        "prior_error",
        "rows_for_gaussian",
        "rows_for_histogram",
        "rows_for_priors",
    ),
    "verosim.kinds.look": ("look",),
    "verosim.kinds": ("Schema",),
    "verosim.data.adapters": ("query",),
    "verosim.engines": ("threads", "use_threads"),
    "verosim.errors": (
        "ConvergenceWarning",
        "PrecisionWarning",
        "SingularWarning",
        "VerosimError",
        "VerosimWarning",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:  # a name is loaded when it is first asked for
    if name not in _HOME:
        raise AttributeError(f"module 'verosim' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
