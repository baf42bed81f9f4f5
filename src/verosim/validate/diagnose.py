"""Diagnosis of a fitted model: are its assumptions true, and are there enough rows?

Most findings are computed from the sums that the model keeps. Skewness, kurtosis and the dependence
between the columns of a naive model need rows.
Reference: Mardia, Kent & Bibby (1979), Multivariate Analysis, chapters 5, 11 and 12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verosim.arguments import checked
from verosim.errors import VerosimError
from verosim.estimators.density_method import check_density
from verosim.stats.hollow import check_has_sums
from verosim.validate.cross_validation import check_generative
from verosim.validate.diagnosis.dependence import associations, correlations
from verosim.validate.diagnosis.findings import Diagnosis
from verosim.validate.diagnosis.information import best_first, column_information, uninformative
from verosim.validate.diagnosis.rows import sample_of
from verosim.validate.diagnosis.shape import gaussian_shape
from verosim.validate.diagnosis.sizes import class_sizes, error_of_priors, rows_per_parameter
from verosim.validate.diagnosis.spread import equal_covariances

if TYPE_CHECKING:
    from verosim.estimators.base import GenerativeClassifier
    from verosim.typing import Labels, Source, Weights


@checked
def diagnose(
    model: GenerativeClassifier,
    X: Source | None = None,
    y: Labels | None = None,
    sample_weight: Weights | None = None,
) -> Diagnosis:
    """Check the assumptions of a fitted model and the number of rows it was fitted on.

    Each finding has a number, often a p-value, and a sentence with advice.

    ==================== =====================================================  ==========
    finding              question                                               needs rows
    ==================== =====================================================  ==========
    rows per parameter   Are there enough rows for the parameters?              no
    class size           Are there enough rows for the covariances?             no
    prior error          How exact are the estimated priors?                    no
    Box's M              LDA or QDA? Are the covariances of the classes equal?  no
    Bartlett             NaiveLDA or GaussianNB? Are the variances equal?       no
    skewness, kurtosis   Are the classes Gaussian?                              yes
    correlation          Do the number columns depend on each other?            if naive
    association          Do the category columns depend on other columns?       yes
    information          Which columns have no information about the class?     no
    ==================== =====================================================  ==========

    The formulas of the first tests are

        prior error   ε = √(log(2C/δ) / (2n))
        Box's M       M = (n − C) log|S| − Σ_k (n_k − 1) log|S_k|

    where n is the number of rows, C is the number of classes, δ is 0.05, n_k is the number of rows
    of class k, S_k is its covariance and S is the pooled covariance. Bartlett's test is Box's M for
    single columns. Skewness and kurtosis are those of Mardia. The association is Cramér's V. The
    information is tested with F for numbers and with G for categories and words.

    Each test has the level 5 %, without a correction for several tests. With very many rows, small
    differences are significant, so read the value together with the p-value. Box's M is also high
    if the classes are not Gaussian. For a model with `robust=True`, the outliers that the model
    leaves out are left out here.

    Parameters
    ----------
    model : GenerativeClassifier
        The fitted model.
    X : array-like of shape (n, d), sparse matrix, table or None, default=None
        The rows, best the training rows. None leaves out the findings that need rows. Of each
        class, at most 20 000 rows are used.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column. None uses the target column of the fit.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weight of each row, or the name of a column of weights. A row with weight 2 counts as
        two rows.

    Returns
    -------
    Diagnosis
        A sequence of findings that prints as a table. `diagnosis["kurtosis"]` has the findings of
        one name.

    Raises
    ------
    VerosimError
        If the model is not a fitted generative classifier, or if labels are given without rows.

    References
    ----------
    Box (1949), A general distribution theory for a class of likelihood criteria, Biometrika 36.
    Mardia (1970), Measures of multivariate skewness and kurtosis with applications, Biometrika 57.
    Mardia, Kent & Bibby (1979), Multivariate Analysis, chapters 5, 11 and 12.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> found = diagnose(LDA().fit(X, y), X, y)
    >>> found["Box's M"][0].reading
    'The covariances differ between the classes (p < 0.001): use QDA or RDA instead of LDA.'
    >>> [round(one.value, 2) for one in found["skewness"]]
    [3.15, 3.08, 3.02]
    """
    hint = "For a calibrated or other wrapped model, use diagnose(model.model_)."
    check_generative(model, "diagnose", hint)
    check_density(model.spec(), "diagnose", "Use diagnose with a model of the columns.")
    check_has_sums(model.checked_state().statistic, "diagnose")
    statistic = model.checked_state().current
    given = X is not None
    if not given and y is not None:
        raise VerosimError("Labels were given without rows.", "Use diagnose(model, X, y).")
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
    title = f"{type(model).__name__}: {rows:,.0f} rows, {classes} classes"
    return Diagnosis(title, tuple(findings))
