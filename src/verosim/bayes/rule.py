"""Bayes' rule in log space: from priors and densities to posteriors.

    δ_k(x) = log π_k + log p(x | k),   log p(x) = log Σ_k exp δ_k(x)
    log p(k | x) = δ_k(x) − log p(x)

Reference: Duda, Hart & Stork (2001), Pattern Classification, §2.1–2.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from verosim import kernels
from verosim.axes import CodedColumns, Columns
from verosim.data import Documents, Parts, SparseRows
from verosim.densities import ClassScores, Params
from verosim.engines import map_rows
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.kernels.constants import IMPOSSIBLE, NOT_FINITE

if TYPE_CHECKING:
    from verosim.bayes.explain import ScoreParts
    from verosim.densities.attribution import AttributionRequest

JOINT, LOG_POSTERIOR, DISCRIMINANT, POSTERIOR = 0, 1, 3, 4

# Rows that were checked and converted before: numbers, sparse rows, words, texts, or named parts.
CheckedRows: TypeAlias = np.ndarray | SparseRows | CodedColumns | Documents | Parts


@dataclass(frozen=True)
class Decision:
    """Scores and priors of C classes: everything that a decision needs.

        δ_k(x) = log π_k + s_k(x)

    s_k(x) is the score of class k, such as log p(x | k) or a linear function, up to a term that is
    the same for all classes. The decision is the class with the largest δ_k. A discriminative
    classifier has a `Decision`. A generative classifier has a `Rule`, which also has densities.

    Attributes
    ----------
    log_prior : ndarray of shape (C,)
        The logarithms of the priors π_k, which are added to the scores.
    params : ClassScores
        The scores of the classes, such as `LinearScores` or the parameters of a density.
    columns : Columns
        The names of the columns, for error messages.

    See Also
    --------
    Rule : A decision with densities.

    References
    ----------
    Duda, Hart & Stork (2001), Pattern Classification, §2.4.
    Bishop (2006), Pattern Recognition and Machine Learning, §1.5.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.axes import Columns
    >>> from verosim.bayes import Decision, LinearScores
    >>> scores = LinearScores.of(np.array([[1.0]]), np.array([0.0]))
    >>> decision = Decision(np.log([0.5, 0.5]), scores, Columns(1))
    >>> decision.decide(np.array([[-2.0], [3.0]]))
    array([0, 1])
    """

    log_prior: np.ndarray  # (C,) added to the scores
    params: ClassScores
    columns: Columns

    def score(self, block: CheckedRows, out: np.ndarray) -> np.ndarray:
        """The scores s_k(x) of one block of rows, without the priors.

        Parameters
        ----------
        block : array or sparse rows or texts, n rows
            The rows, in the form that `params.read` returns.
        out : ndarray of shape (n, C)
            The array for the result.

        Returns
        -------
        ndarray of shape (n, C)
            The scores, up to a term that is the same for all classes.
        """
        return self.params.log_ratio(block, out)

    def discriminants(self, X: CheckedRows) -> np.ndarray:
        """The discriminants δ_k(x) of rows, up to a term that is the same for all classes.

        They are linear in x if the model is linear.

        Parameters
        ----------
        X : array or sparse rows or texts, n rows
            The rows, checked and converted before.

        Returns
        -------
        ndarray of shape (n, C)
            The discriminants.
        """
        return self._scored(X, DISCRIMINANT)

    def posterior(self, X: CheckedRows) -> np.ndarray:
        """The posterior probabilities p(k | x) of rows.

            p(k | x) = exp δ_k(x) / Σ_j exp δ_j(x)

        Parameters
        ----------
        X : array or sparse rows or texts, n rows
            The rows, checked and converted before.

        Returns
        -------
        ndarray of shape (n, C)
            The probabilities. Each row has the sum 1.
        """
        return self._scored(X, POSTERIOR)

    def log_posterior(self, X: CheckedRows) -> np.ndarray:
        """The logarithms log p(k | x) of the posterior probabilities.

            log p(k | x) = δ_k(x) − log Σ_j exp δ_j(x)

        Parameters
        ----------
        X : array or sparse rows or texts, n rows
            The rows, checked and converted before.

        Returns
        -------
        ndarray of shape (n, C)
            The logarithms.
        """
        return self._scored(X, LOG_POSTERIOR)

    def decide(self, X: CheckedRows) -> np.ndarray:
        """The class with the largest discriminant for each row.

            argmax_k δ_k(x)

        Parameters
        ----------
        X : array or sparse rows or texts, n rows
            The rows, checked and converted before.

        Returns
        -------
        ndarray of shape (n,)
            The class numbers, from 0 to C − 1.
        """
        return kernels.first_largest(self.discriminants(X))

    def attributed(self, X: CheckedRows, request: AttributionRequest) -> ScoreParts:
        """The scores of rows as a sum of the priors, the parts of the columns and other lines.

        Parameters
        ----------
        X : array or sparse rows or texts, n rows
            The rows, checked and converted before.
        request : AttributionRequest
            Which columns belong together, and how values are sampled.

        Returns
        -------
        ScoreParts
            The parts, whose sum is the log posterior up to a term that all classes share.
        """
        from verosim.bayes.explain import ScoreParts, linear_parts  # predictions do not need it

        block = self.params.read(X)
        if request.linear:
            form = self.params.linear_form
            return linear_parts(form, self.log_prior, block, request.owner)
        return ScoreParts.of(self.log_prior, self.params.attribution(block, request))

    def _scored(self, X: CheckedRows, mode: int) -> np.ndarray:
        """(n, C) the scores δ_k in the form `mode`."""
        return self._evaluate(X, self.score, mode, self.params.has_compiled_ratio)[0]

    def _evaluate(
        self, X: CheckedRows, score: Callable[..., np.ndarray], mode: int, compiled: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, C) the scores in the form `mode`, and (n,) log Σ_k exp δ_k.

        `compiled` scores give no floating-point warnings.
        """
        n = X.shape[0]
        out = np.empty((n, len(self.log_prior)))  # (n, C)
        evidence = np.zeros(n)  # (n,)
        undefined: list[tuple[int, str]] = []  # block, cell
        lost: list[int] = []  # the blocks with rows of probability 0

        def work(start: int, stop: int) -> None:
            rows, part, total = X, out, evidence
            if stop - start < n:
                rows, part, total = X[start:stop], out[start:stop], evidence[start:stop]
            block = self.params.read(rows)
            if compiled:
                score(block, part)
            else:
                with np.errstate(over="ignore", invalid="ignore"):  # `_check` names the bad cell
                    score(block, part)
            if cell := self.params.undefined_cell(block, self.columns):
                undefined.append((start, cell))
            found = kernels.normalise(part, self.log_prior, mode, total)
            if found & NOT_FINITE:
                self._check(block, score, start, np.empty_like(part))
            if found & IMPOSSIBLE:
                lost.append(start)

        map_rows(work, X)
        if undefined:
            warn(
                f"With alpha=0, a value that no class had has the odds 0/0, so its cells are left "
                f"out; the first is {min(undefined)[1]}. Use alpha above 0 to give it a share.",
                VerosimWarning,
            )
        if lost:
            self._warn_of_impossible(X, np.flatnonzero(evidence == -np.inf))
        return out, evidence

    def _check(
        self, block: Any, score: Callable[..., np.ndarray], start: int, out: np.ndarray
    ) -> None:
        """Raise an error that names the bad cell, if a score that is not finite has one."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = score(block, out)
        self.params.check(block, scores, self.columns, start)
        lost = (np.isnan(scores) | (scores == np.inf)).any(axis=1)
        if lost.any():
            raise VerosimError(
                f"The scores of row {start + int(np.flatnonzero(lost)[0])} are too large to be "
                "computed.",
                "Use smaller numbers in this row, or fit the model again on numbers of a usual "
                "size.",
            )

    def _warn_of_impossible(self, X: CheckedRows, rows: np.ndarray) -> None:
        """Warn of rows with probability 0 in every class, with the cell of the first one."""
        first = int(rows[0])
        cell = self.params.impossible_cell(self.params.read(X[first : first + 1]), self.columns)
        count = f"{len(rows):,} rows" if len(rows) > 1 else "One row"
        warn(
            f"{count} with probability 0 in every class got the prior probabilities; the first is "
            f"row {first}{f', because of {cell}' if cell else ''}. Use alpha above 0 to avoid "
            "probabilities of 0.",
            VerosimWarning,
        )


@dataclass(frozen=True)
class Rule(Decision):
    """Priors and densities of C classes: everything that a prediction needs.

        δ_k(x) = log π_k + log p(x | k)
        log p(k | x) = δ_k(x) − log p(x),   log p(x) = log Σ_k exp δ_k(x)

    π_k is the prior and p(x | k) the density of class k. In addition to the methods of `Decision`,
    a rule has the density p(x) of rows, and it can draw random rows.

    Attributes
    ----------
    log_prior : ndarray of shape (C,)
        The logarithms of the priors π_k.
    params : Params
        The parameters of the densities p(x | k).
    columns : Columns
        The names of the columns, for error messages.

    See Also
    --------
    Decision : Scores and priors without densities.
    log_priors : The logarithms of class priors.

    References
    ----------
    Duda, Hart & Stork (2001), Pattern Classification, §2.1–2.4.
    Bishop (2006), Pattern Recognition and Machine Learning, §1.5.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import Rule
    >>> from verosim.densities import DiagonalGaussian
    >>> from verosim.testing import statistic_of
    >>> X = np.array([[1.0], [3.0], [7.0], [9.0]])
    >>> statistic = statistic_of(X, [0, 0, 1, 1])
    >>> params = DiagonalGaussian().estimate(statistic)
    >>> rule = Rule(np.log([0.5, 0.5]), params, statistic.axes.columns)
    >>> rule.posterior(np.array([[2.0], [5.0]])).round(3)
    array([[1. , 0. ],
           [0.5, 0.5]])
    """

    params: Params

    def joint(self, X: CheckedRows) -> np.ndarray:
        """The joint log probabilities δ_k(x) = log π_k + log p(x | k) of rows and classes.

        Parameters
        ----------
        X : array or sparse rows or texts, n rows
            The rows, checked and converted before.

        Returns
        -------
        ndarray of shape (n, C)
            The joint log probabilities.
        """
        return self._evaluate(X, self.params.log_density, JOINT)[0]

    def evidence(self, X: CheckedRows) -> np.ndarray:
        """The log density log p(x) of rows.

            log p(x) = log Σ_k π_k p(x | k)

        Parameters
        ----------
        X : array or sparse rows or texts, n rows
            The rows, checked and converted before.

        Returns
        -------
        ndarray of shape (n,)
            The log densities.
        """
        return self._evaluate(X, self.params.generative.log_density, JOINT)[1]

    def posterior_and_density(self, X: CheckedRows) -> tuple[np.ndarray, np.ndarray]:
        """The log posteriors log p(k | x) and the log densities log p(x) of rows.

        If the same density gives both, they are computed in one pass.

        Parameters
        ----------
        X : array or sparse rows or texts, n rows
            The rows, checked and converted before.

        Returns
        -------
        log_posterior : ndarray of shape (n, C)
            The logarithms of the posterior probabilities.
        log_density : ndarray of shape (n,)
            The log densities.
        """
        if self.params.generative is not self.params:
            return self.log_posterior(X), self.evidence(X)
        return self._evaluate(X, self.params.log_density, LOG_POSTERIOR)

    def sample(
        self, n: int, classes: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray]:
        """Draw random rows: first the class k from the priors, then x from p(x | k).

        Parameters
        ----------
        n : int
            The number of rows.
        classes : ndarray of shape (n,) or None
            The class numbers of the rows. If None, they are drawn from the priors.
        rng : numpy.random.Generator
            The random number generator.

        Returns
        -------
        X : ndarray of shape (n, d), texts, or dict of parts
            The rows.
        classes : ndarray of shape (n,)
            The class numbers of the rows.
        """
        if classes is None:
            p = np.exp(self.log_prior)
            classes = rng.choice(len(p), size=n, p=p / p.sum())
        return self.params.sample(classes, rng), classes


@dataclass(frozen=True)
class WidenedRule(Rule):
    """A rule over more classes than those it was estimated for; the others have probability 0."""

    inner: Any  # a Decision
    places: np.ndarray  # the numbers of its classes among all C classes
    classes: int  # C

    def discriminants(self, X: CheckedRows) -> np.ndarray:
        return spread(self.inner.discriminants(X), self.places, self.classes)

    def posterior(self, X: CheckedRows) -> np.ndarray:
        return spread(self.inner.posterior(X), self.places, self.classes, 0.0)

    def log_posterior(self, X: CheckedRows) -> np.ndarray:
        return spread(self.inner.log_posterior(X), self.places, self.classes)

    def joint(self, X: CheckedRows) -> np.ndarray:
        return spread(self.inner.joint(X), self.places, self.classes)

    def evidence(self, X: CheckedRows) -> np.ndarray:
        found: np.ndarray = self.inner.evidence(X)
        return found

    def posterior_and_density(self, X: CheckedRows) -> tuple[np.ndarray, np.ndarray]:
        log_posterior, evidence = self.inner.posterior_and_density(X)
        return spread(log_posterior, self.places, self.classes), evidence


def widened(rule: Decision, places: np.ndarray, classes: int) -> Decision:
    """The rule over all classes, where `places` are the numbers of the classes of `rule`."""
    if len(places) == classes:
        return rule
    params: Any = rule.params
    return WidenedRule(rule.log_prior, params, rule.columns, rule, places, classes)


def spread(
    scores: np.ndarray, places: np.ndarray, classes: int, empty: float = -np.inf
) -> np.ndarray:
    """(n, C, …) the scores of all classes; classes that are not in `places` have `empty`."""
    if len(places) == classes:
        return scores
    out = np.full((len(scores), classes, *scores.shape[2:]), empty)
    out[:, places] = scores
    return out
