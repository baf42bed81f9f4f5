"""Diagnosis: what a person should know of a fitted model before trusting it.

Most of it is read off the sums the model keeps; what they do not tell (skewness and tails, the
dependence of columns a naive model took for independent) needs a look at rows.
Reference: Mardia, Kent & Bibby (1979), Multivariate Analysis, chapters 5, 11 and 12.
"""

from __future__ import annotations

from typing import Any

from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.validate.diagnosis.dependence import associations, correlations
from verosim.validate.diagnosis.findings import Diagnosis
from verosim.validate.diagnosis.information import best_first, column_information, uninformative
from verosim.validate.diagnosis.rows import sample_of
from verosim.validate.diagnosis.shape import gaussian_shape
from verosim.validate.diagnosis.sizes import class_sizes, error_of_priors, rows_per_parameter
from verosim.validate.diagnosis.spread import equal_covariances


def diagnose(model: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> Diagnosis:
    """What is doubtful about a fitted model, each finding with a number and what to do.

    ==================== ==========================================================  ==========
    finding              question                                                    needs rows
    ==================== ==========================================================  ==========
    rows per parameter   are there rows enough for what is learnt?                   no
    class size           for the covariance of every class?                          no
    prior error          how well are the priors known? ε = √(log(2K/δ)/(2n))        no
    Box's M              LDA or QDA? M = (N − K) log|S| − Σ (n_k − 1) log|S_k|       no
    Bartlett             NaiveLDA or GaussianNB? the same, column by column          no
    skewness, kurtosis   are the classes Gaussian? Mardia's b₁ and b₂                yes
    correlation          how naive is naive? within classes, numbers                 if naive
    association          and categories: Cramér's V                                  yes
    information          which columns tell nothing? F, G                            no
    ==================== ==========================================================  ==========

    Tests are at 5 %, one by one: with very many rows small departures are found too, so read the
    value beside the p-value. Box's M is also moved by classes that are not Gaussian. With `robust`,
    the rows the model would leave out are left out here.

    Parameters
    ----------
    model : a fitted generative classifier
    X : rows, an array or any table, best those it was fitted on; without them, findings that
        need rows say so. Of a class with more than 20 000 rows, so many are looked at
    y : their labels, or the name of the target; not needed for a table with the target of the fit
    sample_weight : their weights; a row of weight 2 counts for two

    Returns
    -------
    Diagnosis, a sequence of Finding(name, subject, value, p_value, reading) that prints as a table;
    `diagnosis["kurtosis"]` are the findings of one name.

    References
    ----------
    Box (1949), A general distribution theory for a class of likelihood criteria.
    Mardia (1970), Measures of multivariate skewness and kurtosis with applications.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> found = diagnose(LDA().fit(X, y), X, y)
    >>> found["Box's M"][0].reading
    'Covariances differ (p < 0.001): QDA or RDA rather than LDA.'
    >>> [round(one.value, 2) for one in found["skewness"]]
    [3.15, 3.08, 3.02]
    """
    if not isinstance(model, GenerativeClassifier):
        raise VerosimError(
            f"{type(model).__name__} is no generative classifier of verosim.",
            "of a wrapped model, diagnose the model within.",
        )
    statistic = model.checked_state().current
    given = X is not None
    if not given and y is not None:
        raise VerosimError("Labels were given without rows.", "diagnose(model, X, y).")
    sample = sample_of(model, X, y, sample_weight) if given else None
    columns = column_information(model, statistic)
    findings = [
        rows_per_parameter(model),
        *class_sizes(model),
        error_of_priors(model),
        equal_covariances(model, statistic),
        *gaussian_shape(model, sample, given),
        *correlations(model, statistic, sample, given),
        *associations(statistic, sample, best_first(columns), given),
        *uninformative(model, columns),
    ]
    rows, classes = model.class_count_.sum(), len(model.classes_)
    title = f"{type(model).__name__} of {rows:,.0f} rows, {classes} classes"
    return Diagnosis(title, tuple(findings))
