"""Gaussian naive Bayes: independent Gaussian columns, with one variance per class and column."""

from __future__ import annotations

from verosim.estimators.gaussian import GaussianClassifier
from verosim.estimators.gaussian_spec import DiagonalSpec
from verosim.estimators.scikit_names import epsilon, theta, variances


class GaussianNB(GaussianClassifier):
    """Gaussian naive Bayes, with one variance per class and column.

    Use it for numeric columns when the columns are roughly bell-shaped within each class. It needs
    few rows, because it estimates only 2 C d numbers. It assumes that the columns are independent
    within each class. The log discriminant of class k is:

        δ_k(x) = log π_k − ½ Σ_j [ log 2πσ²_kj + (x_j − μ_kj)²/σ²_kj ]

    Here π_k is the prior of class k, and μ_kj and σ²_kj are the mean and the variance of column j
    in class k. Missing values (NaN) are skipped at fit, and predictions use the values that a row
    has. Sparse matrices are read without making them dense.

    Parameters
    ----------
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    covariance : {"mle", "unbiased"}, default="mle"
        The divisor of the variances. "mle" divides by n_k, the number of rows of the class.
        "unbiased" divides by n_k − 1. A class with one value in a column has no variance there. It
        gets the variance within all classes together, S/n or with "unbiased" S/(n − K), and a
        `SingularWarning` names it. S is the sum of squares about the class means, n the number of
        values and K the number of classes that have values.
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
    covariances_ : ndarray of shape (C, d)
        The variance of each column in each class.
    theta_ : ndarray of shape (C, d)
        The same as `means_`, under the name of scikit-learn.
    var_ : ndarray of shape (C, d)
        The same as `covariances_`, under the name of scikit-learn.
    epsilon_ : float
        The amount that is added to every variance. It is 0, because `floor` is a lower limit.
    shrinkage_ : float, str or None
        The shrinkage in use: the parameter `shrinkage`, or the number chosen for "cv".
    n_parameters_ : int
        The number of free parameters: 2 C d means and variances, and C − 1 priors if they are
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
    NaiveLDA : All classes share the variances, which makes the decision linear.
    QDA : A full covariance per class, for columns that depend on each other.
    NaiveBayes : For tables with numbers, categories, dates and texts.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, 2nd edition,
    §6.6.3.
    Rousseeuw & Van Driessen (1999), A fast algorithm for the minimum covariance determinant
    estimator, Technometrics 41, 212–223.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    >>> int((model.predict(X) != y).sum()), model.n_parameters_
    (6, 26)
    >>> model.forget(X[100:], y[100:]).classes_
    array([0, 1])
    """

    def spec(self) -> DiagonalSpec:
        return DiagonalSpec(**self.settings(DiagonalSpec))

    theta_ = property(theta)
    var_ = property(variances)
    epsilon_ = property(epsilon)
