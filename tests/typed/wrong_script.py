"""Mistakes that a type checker must find: each line with `# error` is one.

mypy does not see unknown attributes of an estimator, because scikit-learn has no type hints.
"""

from sklearn.datasets import load_iris

from verosim import LDA, auto, cross_validate

X, y = load_iris(return_X_y=True)
model = LDA(shrinkage=0.1).fit(X, y)

LDA(shrinkag=0.1)  # error
LDA(covariance="mean")  # error
model.predict_probabilities(X)  # error: pyright
cross_validate(model, X, y, folds=5)  # error
cross_validate("LDA", X, y)  # error
found = cross_validate(model, X, y).accuracy  # error
chosen = auto(X, y).modell  # error
auto(X, y, effort="huge")  # error
