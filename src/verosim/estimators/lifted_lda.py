"""LDA on random Fourier features: smooth boundaries of any shape from one set of sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import finite, whole
from verosim.axes import Axes
from verosim.bayes.rule import Decision
from verosim.cached import cached_property
from verosim.data.lift import Lift
from verosim.data.schema import Schema
from verosim.densities import ClassScores, LiftedGaussian
from verosim.engines import one_blas_thread
from verosim.estimators.base import GenerativeClassifier
from verosim.kinds.design_look import with_design
from verosim.kinds.design_reader import DesignReader
from verosim.kinds.first_rows import FirstRows
from verosim.models import Spec
from verosim.stats import LiftedMoments, Statistic

if TYPE_CHECKING:
    from verosim.typing import Priors

MOST_FEATURES = 8192  # their products are 1 GB with the low parts
LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class LiftedSpec(Spec):
    """The settings of LiftedLDA."""

    n_features: Any = 600
    scale: Any = 1.5
    ridge: Any = 0.3
    random_state: Any = 0

    reads_values = True
    reads_only_tables = True

    @property
    def statistic_settings(self) -> dict[str, Any]:
        names = ("n_features", "scale", "random_state")
        return {name: getattr(self, name) for name in names}

    @property
    def is_density(self) -> bool:
        return False

    def check_merges(self, other: Spec) -> None:
        self.check_same(other, list(self.statistic_settings))

    def check_lift(self) -> None:
        """Check the settings of the random features."""
        whole("n_features", self.n_features, 2, MOST_FEATURES)
        finite("scale", self.scale, least=np.finfo(float).tiny)
        whole("random_state", self.random_state, 0, LARGEST_SEED)

    def look_closer(self, schema: Schema, first: FirstRows) -> Schema:
        self.check_lift()
        return with_design(schema, first, distance=True)

    @property
    def reading(self) -> str:
        return "design with all values"

    def reader(self, schema: Schema) -> DesignReader:
        return DesignReader(schema, every=True)

    def columns_read(self, schema: Schema) -> set[str]:
        return {column.column for column in schema.design}

    def plan(self, axes: Axes, source: Any) -> LiftedMoments:
        self.check_lift()
        gamma = 1 / (float(self.scale) * source.reader.schema.distance)
        half, seed = int(self.n_features) // 2, int(self.random_state)
        return LiftedMoments.plan(axes, Lift(len(axes.columns), half, gamma, seed))

    def estimate(self, statistic: Statistic) -> Any:
        with one_blas_thread:  # one matrix of a few hundred columns
            return super().estimate(statistic)

    def rule(self, params: ClassScores, statistic: Statistic, streaming: bool = False) -> Decision:
        weight, rows = statistic.weight[:, 0], statistic.rows[:, 0]
        log_prior = self.log_prior(statistic.axes.groups.classes, weight, rows, streaming)
        return Decision(log_prior, params, statistic.axes.columns)

    @cached_property
    def density(self) -> LiftedGaussian:
        finite("ridge", self.ridge, least=np.finfo(float).tiny)
        return LiftedGaussian(ridge=float(self.ridge))


class LiftedLDA(GenerativeClassifier):
    """Linear discriminant analysis on random Fourier features.

    Use it for tables in which the classes are separated by curved boundaries. It reads numbers,
    categories, dates and missing values as `LDA(encode="onehot")` does, with one column for every
    frequent value of a category. The rows z of that design matrix become D features:

        φ(z) = (cos(Wᵀz), sin(Wᵀz)),   δ_k = log π_k + w_kᵀφ + b_k,   w_k = (Σ + r I)⁻¹(μ_k − μ)

    Here W are D/2 random directions, π_k and μ_k are the prior and the mean of class k in the space
    of the features, μ is the mean of all rows, Σ is the covariance within the classes, r is the
    ridge, and b_k = −½ (μ_k − μ)ᵀw_k − w_kᵀμ. The features are those of the Gaussian kernel
    exp(−γ ‖z − z'‖²) with γ = 1/(scale · m), where m is the median squared distance between two
    rows.

    The directions depend on the seed and on no row. The median m comes from the first rows without
    labels and is kept in `schema_`. The model is a sum over rows, so models with one schema can be
    merged, rows can be forgotten, and another `ridge` needs no data. The Gaussian is a density of
    the features and not of the columns, so `log_density`, `log_joint` and `sample` are not
    available. With few rows the probabilities are too extreme; `calibrate` corrects this.

    Parameters
    ----------
    n_features : int, default=600
        The number D of features, at least 2. The time is proportional to n D², and the memory to
        D².
    scale : float, default=1.5
        The width of the kernel, in units of the median squared distance m. A smaller number gives
        boundaries with finer detail.
    ridge : float, default=0.3
        The number r > 0 that is added to the diagonal of the covariance. The variance of a feature
        is at most 1. A larger number gives smoother boundaries.
    random_state : int, default=0
        The seed of the random directions. Models with different seeds cannot be merged.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the rows of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    encoded_names_ : ndarray of shape (p,)
        The names of the p columns of the design matrix.
    gamma_ : float
        The number γ of the kernel.
    n_parameters_ : int
        The number of free parameters: C D means, D (D + 1)/2 entries of the covariance, and C − 1
        priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read.
    stats_ : Statistic
        The sums over the training rows. The model is computed from them.

    See Also
    --------
    LDA : Linear in the columns, with encode="onehot" for tables.
    calibrate : Corrects probabilities on held-out rows.

    References
    ----------
    Rahimi & Recht (2007), Random features for large-scale kernel machines, Advances in Neural
    Information Processing Systems 20.
    Yu, Suresh, Choromanski, Holtmann-Rice & Kumar (2016), Orthogonal random features, Advances in
    Neural Information Processing Systems 29.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim import LDA, LiftedLDA
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = X[:, 0] * X[:, 1] > 0  # no line separates these classes
    >>> bool(LDA().fit(X, y).score(X, y) < 0.6), bool(LiftedLDA().fit(X, y).score(X, y) > 0.95)
    (True, True)
    """

    def __init__(
        self,
        n_features: int = 600,
        scale: float = 1.5,
        ridge: float = 0.3,
        random_state: int = 0,
        priors: Priors = None,
    ) -> None:
        self.n_features = n_features
        self.scale = scale
        self.ridge = ridge
        self.random_state = random_state
        self.priors = priors

    def spec(self) -> LiftedSpec:
        return LiftedSpec(**self.settings(LiftedSpec))

    @property
    def gamma_(self) -> float:
        """The number γ of the kernel exp(−γ ‖z − z'‖²)."""
        return float(self.fitted("gamma_").params.lift.gamma)

    @property
    def encoded_names_(self) -> np.ndarray:
        """(p,) the names of the columns of the design matrix."""
        state = self.fitted("encoded_names_")
        assert state.schema is not None
        return np.array(list(state.spec.reader(state.schema).columns), dtype=object)
