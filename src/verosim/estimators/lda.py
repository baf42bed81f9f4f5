"""Linear discriminant analysis: one full covariance that all classes share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from verosim.arguments import number_array
from verosim.bayes.rule import Rule
from verosim.engines import map_rows
from verosim.errors import VerosimError
from verosim.estimators.discriminant import LDASpec, convergence, encoded_names
from verosim.estimators.distance import signed_distance
from verosim.estimators.gaussian import (
    GaussianClassifier,
    gaussian_coef,
    gaussian_intercept,
    weights_of_classes,
)
from verosim.estimators.one_state import reads
from verosim.estimators.scikit_names import overall_mean, pooled_covariance, priors

if TYPE_CHECKING:
    from verosim.typing import ClassWeight, Priors, Source


class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClassifier):
    """Linear discriminant analysis: one Gaussian per class, with a shared full covariance.

    Use it for numeric columns as a first model: it is fast, has linear boundaries and is hard to
    overfit. It is also a transformer that projects rows to at most C − 1 dimensions, in which the
    class means are far apart. The log discriminant of class k is, up to a term that all classes
    share:

        δ_k(x) = w_kᵀx + b_k,   w_k = Σ⁻¹(μ_k − μ)
        b_k = log π_k − ½ (μ_k − μ)ᵀ Σ⁻¹ (μ_k − μ) − w_kᵀμ

    Here π_k and μ_k are the prior and the mean of class k, Σ is the covariance within the classes,
    and μ is the mean of all rows. The decisions do not depend on μ.

    Parameters
    ----------
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    covariance : {"mle", "unbiased"}, default="mle"
        The divisor of the covariance. "mle" divides by n, the number of rows. "unbiased" divides
        by n − C.
    shrinkage : float, {"ledoit_wolf", "oas", "cv"} or None, default=None
        How far the covariance is moved towards a sphere: Σ becomes (1 − γ) Σ + γ (tr Σ/d) I. A
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
        What happens if the covariance cannot be inverted. "fallback" shrinks it towards the pooled
        diagonal and issues a `SingularWarning`. "raise" raises a `VerosimError`.
    n_components : int or None, default=None
        The number of directions that `transform` keeps. None keeps all min(C − 1, d) directions.
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
        missing cells of a column. Texts are not read. "normal" also gives the normal score of each
        number, which is the quantile of the standard Gaussian at its rank, from rank 0.005 to
        0.995.
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
    covariances_ : ndarray of shape (d, d)
        The covariance within the classes, after shrinkage.
    covariance_ : ndarray of shape (d, d)
        The same as `covariances_`, under the name of scikit-learn.
    priors_ : ndarray of shape (C,)
        The same as `class_prior_`, under the name of scikit-learn.
    xbar_ : ndarray of shape (d,)
        The mean of all rows μ, which `transform` subtracts.
    coef_ : ndarray of shape (C, d), or (1, d) with two classes
        The weights w_k of the linear discriminants. With two classes, the difference w_1 − w_0.
    intercept_ : ndarray of shape (C,), or (1,) with two classes
        The intercepts b_k of the linear discriminants. With two classes, the difference
        b_1 − b_0.
    weights_ : tuple of (ndarray of shape (C, d), ndarray of shape (C,))
        The weights w_k = Σ⁻¹μ_k and the constants b_k = log π_k − ½ μ_kᵀΣ⁻¹μ_k, named `w` and `b`,
        one for each class. The discriminants w_kᵀx + b_k differ from those of `coef_` by a
        function of x that all classes share.
    scalings_ : ndarray of shape (d, m)
        The Fisher directions that `transform` uses. Along them the covariance within the classes
        is the identity. The direction in which the class means spread most comes first.
    explained_variance_ratio_ : ndarray of shape (m,)
        The share of the variance between the classes along each direction.
    shrinkage_ : float, str or None
        The shrinkage in use: the parameter `shrinkage`, or the number chosen for "cv".
    convergence_ : Convergence
        The progress of the EM algorithm: `iterations`, `converged`, and the `log_likelihood` at
        each iteration. It exists only with missing="marginalise".
    encoded_names_ : ndarray of shape (p,)
        The names of the p columns of the design matrix. It exists only if `encode` is not None. The
        other attributes then have p columns instead of d.
    n_parameters_ : int
        The number of free parameters: C d means, d (d + 1)/2 entries of the covariance, and C − 1
        priors if they are estimated.
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
    QDA : Each class has its own covariance.
    RDA : Covariances between those of QDA and LDA.
    NaiveLDA : A shared diagonal covariance.
    LogisticRegression : Linear boundaries without the Gaussian assumption.

    References
    ----------
    Fisher (1936), The use of multiple measurements in taxonomic problems, Annals of Eugenics 7,
    179–188.
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
    >>> model = LDA().fit(X, y)
    >>> int((model.predict(X) != y).sum()), model.n_parameters_
    (3, 24)
    >>> model.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        priors: Priors = None,
        covariance: Literal["mle", "unbiased"] = "mle",
        shrinkage: float | Literal["ledoit_wolf", "oas", "cv"] | None = None,
        floor: float = 0.0,
        missing: Literal["error", "marginalise"] = "error",
        on_singular: Literal["fallback", "raise"] = "fallback",
        n_components: int | None = None,
        robust: bool = False,
        encode: Literal["onehot", "normal"] | None = None,
        class_weight: ClassWeight = None,
    ) -> None:
        super().__init__(priors, covariance, shrinkage, floor, robust, class_weight)
        self.missing = missing
        self.on_singular = on_singular
        self.encode = encode
        self.n_components = n_components

    def spec(self) -> LDASpec:
        kind = LDASpec
        if self.encode is not None:
            from verosim.estimators.encoded import EncodedLDASpec as kind
        return kind(pooling=1.0, **self.settings(kind))

    convergence_ = property(convergence)
    encoded_names_ = property(encoded_names)
    covariance_ = property(pooled_covariance)
    priors_ = property(priors)
    xbar_ = property(overall_mean)

    coef_ = property(gaussian_coef)
    intercept_ = property(gaussian_intercept)
    weights_ = property(weights_of_classes)
    signed_distance = signed_distance

    # Fisher's directions -------------------------------------------------------------------

    @property
    def scalings_(self) -> np.ndarray:
        """(d, m) Fisher's directions: within-class covariance I, widest spread of means first."""
        return self._fisher()[0]

    @property
    @reads
    def explained_variance_ratio_(self) -> np.ndarray:
        """(m,) the share of the variance between the classes along each direction."""
        spread = self._fisher()[1] ** 2
        total = spread.sum()
        return (spread / total if total > 0 else spread)[: self._n_features_out]

    @reads
    def _fisher(self) -> tuple[np.ndarray, np.ndarray]:
        """The directions, and the singular values of the class means in whitened space."""
        params = self.checked_state().params
        shift = params.reference[2]  # (C, d)
        W = params.whitener[0]
        with np.errstate(over="ignore", invalid="ignore"):
            weighted = np.sqrt(params.share)[:, None] * (shift @ W.T)
        if not np.isfinite(weighted).all():
            raise VerosimError(
                "The class means are too many standard deviations apart to compute the directions "
                "between them.",
                "Divide the columns by constants, and fit the model again.",
            )
        _, spread, V = np.linalg.svd(weighted, full_matrices=False)
        directions = W.T @ V.T
        largest = np.abs(directions).argmax(axis=0)
        sign = np.sign(directions[largest, np.arange(directions.shape[1])])
        directions = directions * np.where(sign == 0, 1.0, sign)
        return directions[:, : self._n_features_out], spread

    @property
    def _n_features_out(self) -> int:
        classes = int((self.class_count_ > 0).sum())
        most = max(min(classes - 1, len(self.stats_.axes.columns)), 1)
        return most if self.n_components is None else min(int(self.n_components), most)

    @reads
    def transform(self, X: Source) -> np.ndarray:
        """Project rows onto Fisher's directions: z = Vᵀ(x − μ), with V = `scalings_`.

        With missing="marginalise", missing values are replaced by their expected values under
        the model.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows.

        Returns
        -------
        ndarray of shape (n, m)
            The projected rows. The mean of all training rows is at zero.
        """
        return self.along(X, self._fisher()[0])

    @reads
    def along(self, X: Source, directions: np.ndarray) -> np.ndarray:
        """Project rows onto given directions: z = Vᵀ(x − μ). `transform` calls this method.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows.
        directions : ndarray of shape (d, m)
            The directions V, one per column.

        Returns
        -------
        ndarray of shape (n, m)
            The projected rows. The mean of all training rows is at zero.
        """
        pivot, centre, _ = self.checked_state().params.reference
        directions = number_array("directions", directions, 2)
        if len(directions) != len(centre):
            raise VerosimError(
                f"directions must have one row for each of the {len(centre)} columns; got "
                f"{len(directions)} rows."
            )

        def project(rule: Rule, rows: Any) -> np.ndarray:
            out = np.empty((rows.shape[0], directions.shape[1]))

            def work(start: int, stop: int) -> None:
                params: Any = rule.params
                block = params.expected(params.read(rows[start:stop]), rule.log_prior)
                with np.errstate(invalid="ignore", over="ignore"):  # the check names such cells
                    np.matmul((block - pivot) - centre, directions, out=out[start:stop])
                rule.params.check(block, out[start:stop], rule.columns, start)

            map_rows(work, rows)
            return out

        return self.evaluate(X, project)
