"""Quadratic discriminant analysis: one Gaussian with a full covariance per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from verosim.estimators.discriminant import FullSpec, convergence, encoded_names
from verosim.estimators.gaussian import GaussianClassifier
from verosim.estimators.scikit_names import (
    class_covariances,
    principal_axes,
    principal_variances,
    priors,
)

if TYPE_CHECKING:
    from verosim.typing import ClassWeight, Priors


class QDA(GaussianClassifier):
    """Quadratic discriminant analysis: one Gaussian with its own full covariance per class.

    Use it for numeric columns when the classes differ in shape and each class has many more rows
    than columns. With fewer rows, use LDA, RDA or a value of `shrinkage`. The log discriminant of
    class k is:

        δ_k(x) = log π_k − ½ log|Σ_k| − ½ (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)

    Here π_k, μ_k and Σ_k are the prior, the mean and the covariance of class k. The boundary
    between two classes is a quadratic surface.

    Parameters
    ----------
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    covariance : {"mle", "unbiased"}, default="mle"
        The divisor of the covariances. "mle" divides by n_k, the number of rows of the class.
        "unbiased" divides by n_k − 1.
    shrinkage : float, {"ledoit_wolf", "oas", "cv"} or None, default=None
        How far each covariance is moved towards a sphere: Σ becomes (1 − γ) Σ + γ (tr Σ/d) I. A
        number from 0 to 1 is the share γ. "ledoit_wolf" and "oas" estimate γ with the formulas in
        the references. "cv" chooses γ by the log-loss on held-out rows, see `shrinkage_`. None
        does not shrink.
    floor : float, default=0.0
        The smallest allowed variance of a column, as a share of the total variance of that
        column.
    missing : {"error", "marginalise"}, default="error"
        "error" rejects rows with missing values. "marginalise" fits the model with the EM
        algorithm, which assumes that values are missing at random, and predicts each row from
        the values that it has.
    on_singular : {"fallback", "raise"}, default="fallback"
        What happens if a covariance cannot be inverted. "fallback" shrinks it towards the pooled
        diagonal and issues a `SingularWarning`. "raise" raises a `VerosimError`.
    robust : bool, default=False
        True leaves out outliers before the sums are computed. An outlier is a row far from the
        majority of its class, measured with the minimum covariance determinant. `class_count_`
        then counts only the rows that were kept. All rows must fit in memory, and `partial_fit`,
        `forget` and `merge` are not available.

    encode : {"onehot", "normal"} or None, default=None
        How a table with categories, dates and missing values is read. None reads columns of numbers
        only. "onehot" gives the model a design matrix: numbers minus their mean, divided by their
        deviation, one column of 0 and 1 for each of the 60 most frequent values of a category
        except the most frequent one, dates by their parts, and one column of 0 and 1 that marks the
        missing cells of a column. Texts are not read. "normal" gives the normal score of each
        number in its place, which is the quantile of the standard Gaussian at its rank, from rank
        0.005 to 0.995.
        The means, values and quantiles come from the first rows and are kept in `schema_`. The
        names of the columns of the matrix are in `encoded_names_`.
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
    covariances_ : ndarray of shape (C, d, d)
        The covariance of each class, after shrinkage.
    covariance_ : list of ndarray of shape (d, d)
        The covariance of each class, as a list, under the name of scikit-learn.
    priors_ : ndarray of shape (C,)
        The same as `class_prior_`, under the name of scikit-learn.
    scalings_ : list of ndarray of shape (d,)
        For each class, the variances along its principal axes, the largest first.
    rotations_ : list of ndarray of shape (d, d)
        For each class, its principal axes, one per column: Σ_k = V_k diag(s_k) V_kᵀ with the
        rotation V_k and the scalings s_k.
    shrinkage_ : float, str or None
        The shrinkage in use: the parameter `shrinkage`, or the number chosen for "cv".
    convergence_ : Convergence
        The progress of the EM algorithm: `iterations`, `converged`, and the `log_likelihood` at
        each iteration. It exists only with missing="marginalise".
    encoded_names_ : ndarray of shape (p,)
        The names of the p columns of the design matrix. It exists only if `encode` is not None. The
        other attributes then have p columns instead of d.
    n_parameters_ : int
        The number of free parameters: C d means, C d (d + 1)/2 entries of the covariances, and
        C − 1 priors if they are estimated.
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
    LDA : One covariance that all classes share, with linear boundaries.
    RDA : Covariances between those of QDA and LDA.
    GaussianNB : Diagonal covariances.

    References
    ----------
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, 2nd edition, §4.3.
    Ledoit & Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices,
    Journal of Multivariate Analysis 88, 365–411.
    Chen, Wiesel, Eldar & Hero (2010), Shrinkage algorithms for MMSE covariance estimation, IEEE
    Transactions on Signal Processing 58, 5016–5029.
    Rousseeuw & Van Driessen (1999), A fast algorithm for the minimum covariance determinant
    estimator, Technometrics 41, 212–223.
    Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm,
    Journal of the Royal Statistical Society B 39, 1–38.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QDA().fit(X, y)
    >>> int((model.predict(X) != y).sum()), model.n_parameters_
    (3, 44)
    """

    def __init__(
        self,
        priors: Priors = None,
        covariance: Literal["mle", "unbiased"] = "mle",
        shrinkage: float | Literal["ledoit_wolf", "oas", "cv"] | None = None,
        floor: float = 0.0,
        missing: Literal["error", "marginalise"] = "error",
        on_singular: Literal["fallback", "raise"] = "fallback",
        robust: bool = False,
        encode: Literal["onehot", "normal"] | None = None,
        class_weight: ClassWeight = None,
    ) -> None:
        super().__init__(priors, covariance, shrinkage, floor, robust, class_weight)
        self.missing = missing
        self.on_singular = on_singular
        self.encode = encode

    def spec(self) -> FullSpec:
        kind = FullSpec
        if self.encode is not None:
            from verosim.estimators.encoded import EncodedSpec as kind
        return kind(**self.settings(kind))

    convergence_ = property(convergence)
    encoded_names_ = property(encoded_names)
    covariance_ = property(class_covariances)
    priors_ = property(priors)
    scalings_ = property(principal_variances)
    rotations_ = property(principal_axes)
