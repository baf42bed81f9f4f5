"""verosim: generative classification. Read the data once; everything after is algebra.

>>> import verosim
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> model = verosim.LDA().fit(X, y)
>>> model.predict(X[:1])
array([0])

Classifiers and functions are here. The classes of their results are in `verosim.validate`,
`verosim.twins`, `verosim.pool` and `verosim.bayes`, sample sizes in `verosim.theory`.
"""

from __future__ import annotations

from verosim.lazy import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(
    "verosim",
    {
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
        "verosim.validate.cross_validation": ("cross_validate",),
        "verosim.validate.search": ("path", "search"),
        "verosim.validate.select": ("select",),
        "verosim.pool.auto": ("auto", "bic"),
        "verosim.validate.calibration": ("Calibrated", "calibrate"),
        "verosim.validate.conformal": ("Conformal", "conformal"),
        "verosim.validate.diagnose": ("diagnose",),
        "verosim.validate.reject": ("Reject", "reject"),
        "verosim.validate.reliability": ("reliability",),
        "verosim.validate.semi": ("SemiSupervised",),
        "verosim.twins.least_squares": ("LeastSquares",),
        "verosim.twins.logistic": ("LogisticRegression",),
        "verosim.twins.perceptron": ("Perceptron",),
        "verosim.twins.svm": ("LinearSVM",),
        "verosim.twins.multiclass": ("OneVsOne", "OneVsRest"),
        "verosim.twins.twin": ("Twin", "twin"),
        "verosim.twins.gap": ("generative_gap",),
        "verosim.twins.comparison.compare": ("compare",),
        "verosim.twins.whiten": ("Whiten",),
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
    },
    submodules=("bayes", "pool", "theory", "twins", "validate"),
)
__all__ += ["__version__"]
