"""verosim: generative classification. Read the data once; everything after is algebra.

>>> import verosim
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> model = verosim.LDA().fit(X, y)
>>> model.predict(X[:1])
array([0])

Classifiers and functions are here. The classes of their results are in `verosim.validate`,
`verosim.twins`, `verosim.pool`, `verosim.insight`, `verosim.files` and `verosim.bayes`, sample
sizes in `verosim.theory`.
"""

from __future__ import annotations

from verosim.lazy import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
__all__ += ["__version__"]
