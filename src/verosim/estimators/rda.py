"""Regularised discriminant analysis: covariances between those of QDA, LDA and spheres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from verosim.estimators.discriminant import BY_CLASS_SIZE, RDASpec, convergence, encoded_names
from verosim.estimators.gaussian import GaussianClassifier

if TYPE_CHECKING:
    from verosim.typing import ClassWeight, Priors


class RDA(GaussianClassifier):
    """Regularised discriminant analysis: covariances between those of QDA, LDA and spheres.

    Use it for numeric columns when QDA has too few rows and LDA is too simple. Two numbers from 0
    to 1, λ (`pooling`) and γ (`shrinkage`), set the covariance of class k:

        Σ_k(λ) = ((1 − λ) S_k + λ S) / ((1 − λ) n_k + λ n)
        Σ_k(λ, γ) = (1 − γ) Σ_k(λ) + γ (tr Σ_k(λ)/d) I

    Here S_k is the sum of squares and products of class k about its mean, S is the sum of all S_k,
    and n_k and n are the numbers of rows. λ = γ = 0 is QDA. λ = 1 with γ = 0 is LDA. λ = γ = 1
    with equal priors classifies by the nearest class mean. The log discriminant of class k is:

        δ_k(x) = log π_k − ½ log|Σ_k| − ½ (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)

    Here π_k and μ_k are the prior and the mean of class k. Use pooling="cv" and shrinkage="cv" to
    choose both numbers from the data.

    Parameters
    ----------
    pooling : float or {"auto", "cv"}, default=0.5
        The number λ, from 0 (each class has its own covariance) to 1 (all classes share one).
        "auto" pools small classes more: the pooled covariance S/n has the share p/(p + n_k) in
        the covariance of class k, and the covariance of its own rows has the rest. p is the number
        of columns that vary. "cv" chooses λ by the log-loss on held-out rows, see `pooling_`.
    shrinkage : float, {"ledoit_wolf", "oas", "cv"} or None, default=0.1
        The sphericity γ, from 0 (no shrinkage) to 1 (all covariances are spheres). None is 0.
        "ledoit_wolf" and "oas" estimate γ with the formulas in the references. "cv" chooses γ by
        the log-loss on held-out rows, see `shrinkage_`.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    covariance : {"mle", "unbiased"}, default="mle"
        The divisor of the covariances. "mle" uses n_k and n in the formula for Σ_k(λ).
        "unbiased" uses n_k − 1 and n − C in their place.
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
    covariances_ : ndarray of shape (C, d, d), or (d, d) with pooling=1
        The covariance of each class, after pooling and shrinkage.
    pooling_ : float or ndarray of shape (C,)
        The pooling in use: the parameter `pooling`, or the value chosen for "cv". With "auto", the
        share p/(p + n_k) of the pooled covariance in each class.
    shrinkage_ : float, str or None
        The shrinkage in use: the parameter `shrinkage`, or the number chosen for "cv". It is None
        if the shrinkage is 0.
    convergence_ : Convergence
        The progress of the EM algorithm: `iterations`, `converged`, and the `log_likelihood` at
        each iteration. It exists only with missing="marginalise".
    encoded_names_ : ndarray of shape (p,)
        The names of the p columns of the design matrix. It exists only if `encode` is not None. The
        other attributes then have p columns instead of d.
    n_parameters_ : int
        The number of free parameters: C d means, the entries of the covariances, and C − 1 priors
        if they are estimated.
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
    QDA : pooling=0 and shrinkage=0.
    LDA : pooling=1 and shrinkage=0, with the linear weights and `transform`.

    References
    ----------
    Friedman (1989), Regularized discriminant analysis, Journal of the American Statistical
    Association 84, 165–175.
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
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RDA(pooling=0.3, shrinkage=0.0).fit(X, y)
    >>> float(model.score(X, y))
    1.0
    >>> model.set_params(pooling=1.0).n_parameters_  # the parameters of LDA, without a new fit
    132
    """

    def __init__(
        self,
        pooling: float | Literal["auto", "cv"] = 0.5,
        shrinkage: float | Literal["ledoit_wolf", "oas", "cv"] | None = 0.1,
        priors: Priors = None,
        covariance: Literal["mle", "unbiased"] = "mle",
        floor: float = 0.0,
        missing: Literal["error", "marginalise"] = "error",
        on_singular: Literal["fallback", "raise"] = "fallback",
        robust: bool = False,
        encode: Literal["onehot", "normal"] | None = None,
        class_weight: ClassWeight = None,
    ) -> None:
        super().__init__(priors, covariance, shrinkage, floor, robust, class_weight)
        self.pooling = pooling
        self.missing = missing
        self.on_singular = on_singular
        self.encode = encode

    def spec(self) -> RDASpec:
        kind = RDASpec
        if self.encode is not None:
            from verosim.estimators.encoded import EncodedRDASpec as kind
        return kind(**self.settings(kind))

    @property
    def pooling_(self) -> float | np.ndarray:
        """The pooling in use: a number, or with "auto" (C,) the share of the pooled covariance."""
        state = self.fitted("pooling_")
        pooling = state.spec.setting("pooling")
        if pooling != BY_CLASS_SIZE:
            return float(pooling)
        p = int(state.params.used.sum())
        return p / (p + state.class_weight)

    convergence_ = property(convergence)
    encoded_names_ = property(encoded_names)
