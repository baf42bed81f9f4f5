"""Whitening: a linear change of the columns after which their covariance is the identity.

    z = W (x − μ),   W Σ Wᵀ = I,   ‖z − z'‖² = (x − x')ᵀ Σ⁻¹ (x − x')

Here Σ is the pooled within-class covariance of LDA, or the covariance of all rows. Euclidean
distance becomes Mahalanobis distance.
Reference: Mahalanobis (1936), On the generalised distance in statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from verosim.arguments import number_array, one_of
from verosim.bayes.covariance import Covariance, check_whitener
from verosim.data.adapters import is_source, open_table
from verosim.errors import VerosimError
from verosim.estimators.gaussian import GaussianClassifier
from verosim.estimators.lda import LDA
from verosim.estimators.one_state import reads, updates
from verosim.estimators.score_mixin import NotFitted, set_known
from verosim.models import derive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.typing import Labels, Source, Weights


class Whiten(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transformer that whitens rows: afterwards the covariance is the identity.

    Use it before a method that depends on distances. `make_pipeline(Whiten(),
    KNeighborsClassifier())` is k nearest neighbours with the Mahalanobis distance:

        z = W (x − μ),   W Σ Wᵀ = I,   ‖z − z'‖² = (x − x')ᵀ Σ⁻¹ (x − x')

    where x is a row, μ is the mean of all rows, Σ is a covariance and W is its whitener. Every
    whitener gives the same distances; they differ by a rotation. Constant columns are dropped. A
    singular covariance is shrunk towards its diagonal, with a warning.

    Parameters
    ----------
    covariance : {"mle", "unbiased"}, default="mle"
        The divisor of the covariance. "mle" divides by n. "unbiased" divides by n − C, where C is
        the number of classes, or 1 with of="total".
    shrinkage : float or {"ledoit_wolf", "oas", "cv"} or None, default=None
        The shrinkage of the covariance, (1 − a) Σ + a (tr Σ/d) I. A float from 0 to 1 is the
        intensity a. "ledoit_wolf" and "oas" estimate a by closed formulas. "cv" chooses a by the
        held-out log-loss of LDA, and it needs of="within". None uses no shrinkage.
    method : {"zca", "pca", "cholesky"}, default="zca"
        The whitener. "zca" is the symmetric root Σ^(−½), which changes rows as little as possible.
        "pca" measures rows along the axes of Σ, the longest axis first. "cholesky" is L⁻¹ with
        Σ = L Lᵀ: each coordinate depends only on its own column and the columns before it.
    of : {"within", "total"}, default="within"
        The covariance. "within" is the covariance within classes, pooled over the classes, and
        needs labels. "total" is the covariance of all rows, and needs no labels.

    Attributes
    ----------
    whitener_ : ndarray of shape (m, d)
        The matrix W, with one row for each of the m columns that vary.
    unwhitener_ : ndarray of shape (d, m)
        The matrix A with x = μ + A z and A Aᵀ = Σ. The rows of constant columns are zero.
    covariance_ : ndarray of shape (d, d)
        The covariance Σ.
    mean_ : ndarray of shape (d,)
        The mean μ of all rows.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (d,)
        The column names of X, if X had names.

    See Also
    --------
    LDA : Its method `covariance_of` gives the roots and the axes of a covariance.

    References
    ----------
    Mahalanobis (1936), On the generalised distance in statistics, Proceedings of the National
    Institute of Sciences of India 2, 49–55.
    Kessy, Lewin & Strimmer (2018), Optimal whitening and decorrelation, The American Statistician
    72, 309–314.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_wine(return_X_y=True)
    >>> plain = KNeighborsClassifier().fit(X[::2], y[::2])
    >>> whitened = make_pipeline(Whiten(), KNeighborsClassifier()).fit(X[::2], y[::2])
    >>> float(round(plain.score(X[1::2], y[1::2]), 3))
    0.73
    >>> float(round(whitened.score(X[1::2], y[1::2]), 3))
    0.966
    """

    def __init__(
        self,
        covariance: Literal["mle", "unbiased"] = "mle",
        shrinkage: float | Literal["ledoit_wolf", "oas", "cv"] | None = None,
        method: Literal["zca", "pca", "cholesky"] = "zca",
        of: Literal["within", "total"] = "within",
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.method = method
        self.of = of  # type: ignore[method-assign, assignment]

    @updates
    def fit(self, X: Source, y: Labels | None = None, sample_weight: Weights | None = None) -> Self:
        """Estimate the mean and the covariance in one pass over the rows.

        Parameters
        ----------
        X : array-like or table of shape (n, d)
            The training rows, as an array, a data frame or any other table.
        y : array-like of shape (n,), str or None, default=None
            The labels, or the name of the target column of a table. of="within" needs labels.
            of="total" does not use them, but a target column is not whitened.
        sample_weight : array-like of shape (n,), str or None, default=None
            The weights of the rows, or the name of the column of weights. None gives each row the
            weight 1.

        Returns
        -------
        Whiten
            The fitted transformer itself.
        """
        self._check()
        total = self._covariance_of == "total"
        if y is None and not total:
            raise VerosimError(
                "This Whiten estimator requires y to be passed, but the target y is None.",
                'Call fit(X, y), or use Whiten(of="total").',
            )
        if total and not isinstance(y, str):
            y = np.zeros(_n_rows(X), dtype=np.intp)
        model = LDA(covariance=self.covariance, shrinkage=self.shrinkage).fit(X, y, sample_weight)
        return self._set(_of_all_rows(model) if total else model)

    # The parameter `of` has the same name. It is an attribute of objects, and this is a function of
    # the class.
    @staticmethod
    def of(
        model: GaussianClassifier,
        method: Literal["zca", "pca", "cholesky"] = "zca",
        of: Literal["within", "total"] = "within",
    ) -> Whiten:
        """Make a fitted transformer from the sums of a fitted model. No rows are read.

        The covariance has the divisor and the shrinkage of the model.

        Parameters
        ----------
        model : LDA, QDA or RDA
            The fitted model.
        method : {"zca", "pca", "cholesky"}, default="zca"
            The whitener. "zca" is the symmetric root Σ^(−½). "pca" measures rows along the axes of
            Σ, the longest axis first. "cholesky" is L⁻¹ with Σ = L Lᵀ.
        of : {"within", "total"}, default="within"
            The covariance. "within" is the covariance within classes, pooled over the classes.
            "total" is the covariance of all rows.

        Returns
        -------
        Whiten
            The fitted transformer.
        """
        if not isinstance(model, GaussianClassifier):
            raise _no_products(model)
        state = model.checked_state()
        if state.params.covariance_form != "full" or not state.spec.is_density:
            raise _no_products(model)
        out = Whiten(model.covariance, model.shrinkage_, method, of)  # type: ignore[arg-type]
        out._check()
        settings: dict[str, Any] = model.get_params()
        missing = settings["missing"]
        lda = LDA(covariance=out.covariance, shrinkage=out.shrinkage, missing=missing)
        lda.set_state(derive(lda.spec(), state.statistic, state.schema))
        return out._set(_of_all_rows(lda) if of == "total" else lda)

    def _check_fitted(self) -> None:
        if not hasattr(self, "whitener_"):
            raise NotFitted.of(self)

    def _check(self) -> None:
        check_whitener(self.method)
        one_of("of", self._covariance_of, ("within", "total"))
        if self._covariance_of == "total" and self.shrinkage == "cv":
            raise VerosimError(
                'shrinkage="cv" compares predictions of classes, and of="total" has no classes.',
                'Use of="within", or shrinkage="ledoit_wolf".',
            )

    def _set(self, model: LDA) -> Self:
        """Take the mean and the covariance of a fitted LDA."""
        params, self._model = model.state_.params, model
        pivot, centre, _ = params.reference
        self.covariance_ = model.covariances_  # (d, d)
        self.mean_ = pivot + centre  # (d,)
        kept = np.where(np.outer(params.used, params.used), self.covariance_, 0.0)
        found = Covariance(kept, self.mean_)
        self.whitener_ = found.whitener(self.method)
        self.unwhitener_ = found.unwhitener(self.method)
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the transformer. They take effect at the next fit.

        Parameters
        ----------
        **parameters : Any
            The new values, by name.

        Returns
        -------
        Whiten
            The transformer itself.
        """
        set_known(super().set_params, parameters)
        return self

    @reads
    def transform(self, X: Source) -> np.ndarray:
        """Whiten rows: z = W (x − μ).

        Parameters
        ----------
        X : array-like or table of shape (n, d)
            Rows with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n, m)
            The whitened rows, centred at the overall mean of the training rows.
        """
        self._check_fitted()
        return self._model.along(X, self.whitener_.T)

    @reads
    def inverse_transform(self, Z: ArrayLike) -> np.ndarray:
        """Compute the rows that belong to whitened rows: x = μ + A z, with W A = I.

        Parameters
        ----------
        Z : array-like of shape (n, m)
            Whitened rows.

        Returns
        -------
        ndarray of shape (n, d)
            The rows. Constant columns have their mean.
        """
        self._check_fitted()
        rows = number_array("Z", Z, 2)
        if rows.shape[1] != len(self.whitener_):
            raise VerosimError(
                f"Z must have {len(self.whitener_)} columns, as the result of transform has; got "
                f"{rows.shape[1]}."
            )
        return self.mean_ + rows @ self.unwhitener_.T

    @property
    def _covariance_of(self) -> str:
        """The parameter `of`."""
        return str(vars(self)["of"])

    @property
    def _n_features_out(self) -> int:
        return len(self.whitener_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._covariance_of == "within"
        return tags


def _n_rows(X: Any) -> int:
    """The number of rows of an array or a table in memory."""
    if not is_source(X):
        shape = X.shape if hasattr(X, "shape") else np.asarray(X, dtype=object).shape
        return int(shape[0]) if shape else 0
    rows = open_table(X).rows
    if rows is None:
        raise VerosimError(
            'Whiten(of="total") without y needs rows in memory, because the number of rows is not '
            "known before they are read.",
            "Give a table in memory, or name a target column: fit(X, 'target').",
        )
    return rows


def _of_all_rows(model: LDA) -> LDA:
    """The model of one class that has the rows of all classes."""
    state = model.state_
    sums = state.statistic.complete
    if sums is None or not sums.has_class_scatter:
        raise VerosimError(
            'of="total" needs the sums of products of each class, over complete rows, and this '
            "model does not have them.",
            'Use of="within", or fit Whiten(of="total") on rows.',
        )
    return LDA(covariance=model.covariance, shrinkage=model.shrinkage).set_state(
        derive(model.spec(), sums.as_one_class(), state.schema)
    )


def _no_products(model: Any) -> VerosimError:
    """The error for a model without sums of products of columns."""
    return VerosimError(
        f"Whiten.of needs a fitted LDA, QDA or RDA; {type(model).__name__} has no sums of products "
        "of columns.",
        "Use Whiten().fit(X, y).",
    )
