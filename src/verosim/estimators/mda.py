"""Mixture discriminant analysis: a few Gaussian components per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.densities import Convergence
from verosim.densities.mixture import MixtureParams
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.mixture.settings import FoundMixture, MixtureSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verosim.typing import Priors, RandomState


class MDA(GenerativeClassifier):
    """Mixture discriminant analysis: each class is a mixture of a few Gaussians.

    Use it for numeric columns when a class has several clusters, or a shape that one Gaussian does
    not fit, and when there are many rows. The density of class k is:

        p(x | k) = Σ_g w_g N(x; μ_g, Σ_g),   δ_k(x) = log π_k + log p(x | k)

    The sum is over the components g of class k. π_k is the prior of the class, and w_g, μ_g and Σ_g
    are the share, the mean and the covariance of a component. The components are found by the EM
    algorithm, from several starts by k-means. With one component per class, MDA is LDA if the
    covariance is shared, and QDA if each component has its own, both without regularisation.

    EM reads the rows many times. All rows must fit in memory, and `partial_fit`, `forget` and
    `merge` are not available. Missing values are not allowed.

    Parameters
    ----------
    components : int, dict or "cv", default="cv"
        The number of components of each class. A dict maps each label to a number. "cv" tries 1, 2,
        3, 5 and 8 for all classes, with at least 10 rows per component, as long as the log-loss on
        held-out rows falls by more than one standard error. A class can have fewer components than
        its number: it has at most as many as it has different rows, and a component that loses its
        rows is removed.
    covariance : {"shared", "own", "cv"}, default="cv"
        "shared" uses one covariance for all components of all classes. "own" uses one covariance
        per component. "cv" chooses by the log-loss on held-out rows.
    regularisation : float or "cv", default="cv"
        A number λ, at least 0 and below 1. In a class of n_k rows and G_k components, an own
        covariance is Σ_g = (S_g + a T) / (n_g + a) with a = λ/(1 − λ) · n_k/G_k. Here S_g is the
        sum of squares and products of the component about its mean, n_g is its number of rows, and
        T is half the pooled covariance of all components and half the `target`. A shared
        covariance has the share λ/2 of the target. "cv" chooses 0.01, 0.1, 0.4 or 0.7 by the
        log-loss on held-out rows.
    target : {"diagonal", "sphere", "cv"}, default="cv"
        The target of the regularisation. "diagonal" is the diagonal of the pooled covariance. It
        does not depend on the units of the columns. "sphere" is I times the mean variance of the
        columns. Use it if all columns have the same unit. "cv" chooses by the log-loss on held-out
        rows.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    restarts : int, default=3
        The number of starts. After a few iterations from each start, EM continues with the best
        components of each class.
    max_iter : int, default=200
        The largest number of EM iterations.
    tol : float, default=1e-05
        EM stops when the relative change of the log-likelihood is at most this value. The
        log-likelihood is measured in units in which the covariance within classes is I.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the starts and of the held-out rows. None gives other starts in each fit.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the rows of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    n_components_ : ndarray of shape (C,)
        The number of components of each class. G is their sum.
    component_classes_ : ndarray of shape (G,)
        The class label of each component.
    weights_ : ndarray of shape (G,)
        The share w_g of each component in its class.
    means_ : ndarray of shape (G, d)
        The mean of each component.
    covariances_ : ndarray of shape (G, d, d), or (d, d) if shared
        The covariance of each component.
    covariance_ : str
        The form of the covariances in use, "shared" or "own".
    regularisation_ : float
        The regularisation λ in use.
    target_ : str
        The target of the regularisation in use, "diagonal" or "sphere".
    log_losses_ : dict
        The log-loss on held-out rows of the settings that were tried. A key is a tuple
        (covariance, regularisation, target, components). It is empty if nothing was chosen.
    convergence_ : Convergence
        The progress of the EM algorithm: `iterations`, `converged`, and the `log_likelihood` at
        each iteration. With regularisation it is the penalised log-likelihood.
    n_iter_ : int
        The number of times that EM scored the rows: the number of iterations plus one.
    n_parameters_ : int
        The number of free parameters: G d means, G − C shares, the entries of the covariances,
        and C − 1 priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read. It exists only after a fit on a table.
    stats_ : Statistic
        The sums over the training rows. The components do not follow from them.

    See Also
    --------
    LDA : One Gaussian per class, with a shared covariance.
    QDA : One Gaussian per class, with its own covariance.
    RDA : One Gaussian per class, with a covariance between those of LDA and QDA.

    References
    ----------
    Hastie & Tibshirani (1996), Discriminant analysis by Gaussian mixtures, Journal of the Royal
    Statistical Society B 58, 155–176.
    Fraley & Raftery (2007), Bayesian regularization for normal mixture estimation and model-based
    clustering, Journal of Classification 24, 155–181.
    Biernacki, Celeux & Govaert (2003), Choosing starting values for the EM algorithm for getting
    the highest likelihood in multivariate Gaussian mixture models, Computational Statistics & Data
    Analysis 41, 561–575.

    Examples
    --------
    The rows of each class are in two opposite corners of a square.

    >>> import numpy as np
    >>> from verosim import LDA, MDA
    >>> rng = np.random.default_rng(0)
    >>> corner = rng.integers(0, 2, (400, 2))
    >>> X, y = corner + 0.1 * rng.normal(size=(400, 2)), corner[:, 0] ^ corner[:, 1]
    >>> model = MDA(components=2).fit(X, y)
    >>> model.score(X, y), LDA().fit(X, y).score(X, y) < 0.7
    (1.0, True)
    >>> model.means_[model.component_classes_ == 0].round(1)
    array([[1., 1.],
           [0., 0.]])
    """

    def __init__(
        self,
        components: int | Literal["cv"] | Mapping[Any, int] = "cv",
        covariance: Literal["shared", "own", "cv"] = "cv",
        regularisation: float | Literal["cv"] = "cv",
        target: Literal["diagonal", "sphere", "cv"] = "cv",
        priors: Priors = None,
        restarts: int = 3,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: RandomState = 0,
    ) -> None:
        self.components = components
        self.covariance = covariance
        self.regularisation = regularisation
        self.target = target
        self.priors = priors
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def spec(self) -> MixtureSpec:
        return MixtureSpec(**self.settings(MixtureSpec))

    def _found(self, attribute: str) -> FoundMixture:
        """The result of EM, for a fitted attribute."""
        found: FoundMixture = self.fitted(attribute).tuned["found"]
        return found

    def _mixture(self, attribute: str) -> MixtureParams:
        """The fitted components, for a fitted attribute."""
        return self._found(attribute).params

    @property
    def n_components_(self) -> np.ndarray:
        """(C,) the number of components of each class."""
        return np.diff(self._mixture("n_components_").starts)

    @property
    def component_classes_(self) -> np.ndarray:
        """(G,) the class label of each component."""
        state = self.fitted("component_classes_")
        found: FoundMixture = state.tuned["found"]
        return state.classes[found.params.owner]

    @property
    def weights_(self) -> np.ndarray:
        """(G,) the share of each component in its class."""
        return np.exp(self._mixture("weights_").log_share)

    @property
    def means_(self) -> np.ndarray:
        """(G, d) the mean of each component."""
        return self._mixture("means_").components.means

    @property
    def covariances_(self) -> np.ndarray:
        """The covariance of each component: (G, d, d), or (d, d) if shared."""
        return self._mixture("covariances_").components.covariances()

    @property
    def covariance_(self) -> str:
        """The form of the covariances in use, "shared" or "own"."""
        return _form(self._found("covariance_").settings.shared)

    @property
    def regularisation_(self) -> float:
        """The regularisation λ in use."""
        return self._found("regularisation_").settings.regularisation

    @property
    def target_(self) -> str:
        """The target of the regularisation in use, "diagonal" or "sphere"."""
        return _target(self._found("target_").settings.sphere)

    @property
    def log_losses_(self) -> dict[tuple[str, float, str, int], float]:
        """The log-loss on held-out rows of the settings that were tried."""
        losses = self._found("log_losses_").losses
        return {
            (_form(tried.shared), tried.amount.regularisation, _target(tried.amount.sphere),
             tried.components): loss
            for tried, loss in losses.items()
        }  # fmt: skip

    @property
    def convergence_(self) -> Convergence:
        """The progress of EM: iterations, the log-likelihood at each, and whether it converged."""
        return self._mixture("convergence_").convergence

    @property
    def n_iter_(self) -> int:
        """The number of iterations of EM, plus one."""
        return self._mixture("n_iter_").convergence.iterations + 1


def _form(shared: bool) -> str:
    """The name of the form of the covariances."""
    return "shared" if shared else "own"


def _target(sphere: bool) -> str:
    """The name of the target of the regularisation."""
    return "sphere" if sphere else "diagonal"
