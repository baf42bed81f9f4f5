"""Naive LDA: independent Gaussian columns, with one variance per column for all classes."""

from __future__ import annotations

from verosim.estimators.distance import signed_distance
from verosim.estimators.gaussian import GaussianClassifier, gaussian_coef, gaussian_intercept
from verosim.estimators.gaussian_spec import DiagonalSpec


class NaiveLDA(GaussianClassifier):
    """Naive (diagonal) linear discriminant analysis, with one variance per column.

    Use it for numeric data with many columns and few rows, for example gene expression data. It
    assumes that the columns are independent within each class and that all classes have the same
    variances, so its decisions are linear in x. The log discriminant of class k is:

        δ_k(x) = log π_k − ½ Σ_j [ log 2πσ²_j + (x_j − μ_kj)²/σ²_j ]

    Here π_k is the prior of class k, μ_kj is the mean of column j in class k, and σ²_j is the
    variance of column j within the classes. Missing values (NaN) are skipped at fit, and
    predictions use the values that a row has. Sparse matrices are read without making them dense.

    Parameters
    ----------
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    covariance : {"mle", "unbiased"}, default="mle"
        The divisor of the variances. "mle" divides by n, the number of rows. "unbiased" divides
        by n − C. If every class has one row, the variance within the classes is 0: `floor` decides,
        and there is a `SingularWarning`.
    shrinkage : float, {"ledoit_wolf", "oas", "cv"} or None, default=None
        How far each variance is moved towards the mean variance of all columns: σ²_j becomes
        (1 − a) σ²_j + a mean_j σ²_j. A number from 0 to 1 is the share a. "ledoit_wolf" and
        "oas" are the same here: both use the share that minimises the expected squared error of
        the variances of a Gaussian. "cv" chooses the share by the log-loss on held-out rows, see
        `shrinkage_`. None does not shrink.
    floor : float, default=1e-9
        The smallest allowed variance of a column, as a share of the total variance of that
        column.
    robust : bool, default=False
        True leaves out outliers before the sums are computed. An outlier is a row far from the
        majority of its class, measured with the minimum covariance determinant. `class_count_`
        then counts only the rows that were kept. All rows must fit in memory, and `partial_fit`,
        `forget` and `merge` are not available.
    class_weight : dict, "balanced" or None, default=None
        Factors of the classes at estimation. The sums of class k are multiplied by w_k, as if each
        row of the class had the weight w_k, so a prior n_k/n becomes w_k n_k / Σ_j w_j n_j. A dict
        maps labels to factors, and the classes that it does not name have the factor 1. "balanced"
        uses w_k = n/(C n_k), which gives all classes the same weight. None uses 1 for all classes.
        The stored sums and `class_count_` stay the same, so it can change after the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the rows of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    means_ : ndarray of shape (C, d)
        The mean of each class.
    covariances_ : ndarray of shape (d,)
        The variance of each column within the classes.
    coef_ : ndarray of shape (C, d), or (1, d) with two classes
        The weights w_k of the linear discriminants. With two classes, the difference w_1 − w_0.
    intercept_ : ndarray of shape (C,), or (1,) with two classes
        The intercepts b_k of the linear discriminants. With two classes, the difference
        b_1 − b_0.
    shrinkage_ : float, str or None
        The shrinkage in use: the parameter `shrinkage`, or the number chosen for "cv".
    n_parameters_ : int
        The number of free parameters: C d means, d variances, and C − 1 priors if they are
        estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read. It exists only after a fit on a table.
    stats_ : Statistic
        The sums over the training rows. The model is computed from them.

    See Also
    --------
    GaussianNB : Each class has its own variances.
    LDA : A full covariance that all classes share.

    References
    ----------
    Dudoit, Fridlyand & Speed (2002), Comparison of discrimination methods for the classification
    of tumors using gene expression data, Journal of the American Statistical Association 97,
    77–87. The model is called diagonal linear discriminant analysis there.
    Rousseeuw & Van Driessen (1999), A fast algorithm for the minimum covariance determinant
    estimator, Technometrics 41, 212–223.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NaiveLDA().fit(X, y)
    >>> model.covariances_.shape, model.n_parameters_
    ((4,), 18)
    """

    def spec(self) -> DiagonalSpec:
        return DiagonalSpec(shared=True, **self.settings(DiagonalSpec))

    coef_ = property(gaussian_coef)
    intercept_ = property(gaussian_intercept)
    signed_distance = signed_distance
