"""Posteriors are calibrated if, of the rows predicted with confidence p, a share p is correct.

    ECE = Σ_b (W_b / W) |accuracy_b − confidence_b|        over bins b of the confidence

ECE is the expected calibration error. The confidence of a row is the posterior of its predicted
class, and W_b is the weight of the rows of bin b.

Reference: Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import logsumexp

from verosim.arguments import checked, number_array, one_of
from verosim.data import as_weights, encode_labels
from verosim.data.labels import check_known, positions
from verosim.errors import VerosimError
from verosim.folds.inputs import one_column
from verosim.folds.scores import (
    Predictions,
    Sums,
    is_correct,
    own_log_proba,
    squared_errors,
    weighted_mean,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.typing import Labels


@dataclass(frozen=True)
class Reliability:
    """The calibration of posteriors, the result of :func:`reliability`.

    It has a curve with B bins of the confidence, and four numbers. The confidence of a row is the
    posterior of its predicted class. Bins without rows are left out. The object prints the curve as
    a table.

    Attributes
    ----------
    confidence : ndarray of shape (B,)
        The mean confidence of the rows of each bin.
    accuracy : ndarray of shape (B,)
        The share of the rows of each bin with a correct prediction.
    weight : ndarray of shape (B,)
        The weight of the rows of each bin.
    error : float
        The expected calibration error: the weighted mean of |accuracy − confidence| over the bins.
    classwise_error : float
        The same error for the posterior of each class, as the mean over the classes.
    log_loss : float
        The mean of −log p(y | x) over the rows, in nats, with y the true class. It is not clipped,
        so it is infinite if the true class of a row has the posterior 0.
    brier : float
        The Brier score: the mean of Σ_k (p(k | x) − [y = k])², from 0 to 2.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI.

    Examples
    --------
    >>> from verosim import reliability
    >>> found = reliability(["a", "b"], [[0.9, 0.1], [0.3, 0.7]])
    >>> found
    Reliability(error=0.2000, classwise_error=0.2000, log_loss=0.2310, brier=0.1000)
    >>> found.confidence, found.accuracy
    (array([0.7, 0.9]), array([1., 1.]))
    """

    confidence: np.ndarray  # (B,) mean posterior of the predicted class, by bin
    accuracy: np.ndarray  # (B,) share of correct predictions
    weight: np.ndarray  # (B,) weight of the rows
    error: float  # expected calibration error of the predicted class
    classwise_error: float  # the same for the posterior of each class, mean over classes
    log_loss: float  # mean −log p(y | x), in nats
    brier: float  # mean Σ_k (p(k | x) − [y = k])², from 0 to 2

    def __repr__(self) -> str:
        return (
            f"Reliability(error={self.error:.4f}, classwise_error={self.classwise_error:.4f}, "
            f"log_loss={self.log_loss:.4f}, brier={self.brier:.4f})"
        )

    def __str__(self) -> str:
        lines = ["confidence  accuracy  weight"]
        lines += [
            f"{c:10.3f}  {a:8.3f}  {w:6.0f}"
            for c, a, w in zip(self.confidence, self.accuracy, self.weight, strict=True)
        ]
        lines += [
            f"expected calibration error {self.error:.4f}, by class {self.classwise_error:.4f}",
            f"log-loss {self.log_loss:.4f}, Brier score {self.brier:.4f}",
        ]
        return "\n".join(lines)


@checked
def reliability(
    labels: Labels,
    proba: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    *,
    log_proba: ArrayLike | None = None,
    bins: int = 15,
    strategy: Literal["width", "mass"] = "width",
    sample_weight: ArrayLike | None = None,
) -> Reliability:
    """Measure how well posteriors are calibrated.

    Rows are grouped into bins by their confidence, the posterior of the predicted class. Posteriors
    are calibrated if the accuracy of each bin is equal to its mean confidence.

        ECE = Σ_b (W_b / W) |accuracy_b − confidence_b|

    where ECE is the expected calibration error, b is a bin, W_b is the weight of its rows, and W is
    the weight of all rows. The class-wise error uses bins of p(k | x) and the share of class k, for
    each class k. Use posteriors of held-out rows, because those of training rows look too good.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The true labels.
    proba : array-like of shape (n, C) or None, default=None
        The posteriors. Give either `proba` or `log_proba`.
    classes : array-like of shape (C,) or None, default=None
        The labels of the columns of the posteriors, `model.classes_`. None uses the labels that
        occur in `labels`, sorted.
    log_proba : array-like of shape (n, C) or None, default=None
        The logarithms of the posteriors. They give an exact log-loss for posteriors near 0.
    bins : int, default=15
        The number of bins.
    strategy : {"width", "mass"}, default="width"
        "width" makes bins of equal width. "mass" makes bins with an equal weight of rows.
    sample_weight : array-like of shape (n,) or None, default=None
        The weight of each row.

    Returns
    -------
    Reliability
        The reliability curve, the calibration errors, the log-loss and the Brier score.

    Raises
    ------
    VerosimError
        If the posteriors of a row do not sum to 1, or if their shape does not match the labels and
        classes.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI.
    Kull et al. (2019), Beyond temperature scaling, NeurIPS (the error by class).
    Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather
    Review 78.

    Examples
    --------
    >>> from verosim import reliability
    >>> proba = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]
    >>> print(reliability(["a", "a", "b", "a"], proba, bins=2))
    confidence  accuracy  weight
         0.825     0.750       4
    expected calibration error 0.0750, by class 0.2250
    log-loss 0.7469, Brier score 0.4750
    """
    log_p = _log_posteriors(proba, log_proba)  # (n, C)
    n, C = log_p.shape
    codes = _codes(labels, classes, n, C)
    given: Any = sample_weight
    w = as_weights(given if given is not None and len(given) else None, n)
    w = w if len(w) else np.ones(n)
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise VerosimError(f"bins must be an integer of at least 1; got {bins!r}.")
    one_of("strategy", strategy, ("width", "mass"))
    rows = Predictions(log_p[w > 0], codes[w > 0], w[w > 0], np.arange(C))
    return BinSums.of(rows, int(bins), strategy).reliability()


@dataclass(frozen=True)
class BinSums:
    """Sums over rows, by bin of a posterior; the sums of two sets of rows can be added."""

    # (1 + C, bins, 3) Σ w, Σ w p and Σ w hit, for the predicted class, then for each class
    curves: np.ndarray
    means: np.ndarray  # (3,) Σ w log p(y | x), Σ w Σ_k (p_k − [y = k])², Σ w

    @classmethod
    def of(cls, rows: Predictions, bins: int, strategy: str = "width") -> BinSums:
        """The sums of these rows."""
        p, w, n = np.exp(rows.log_proba), rows.weights, len(rows.codes)
        w = w if len(w) else np.ones(n)
        predicted = p[np.arange(n), rows.log_proba.argmax(axis=1)]
        pairs = [(predicted, is_correct(rows.log_proba, rows.codes))]
        pairs += [(p[:, k], rows.codes == k) for k in range(p.shape[1])]
        curves = [_bin_sums(posterior, hit, w, bins, strategy) for posterior, hit in pairs]
        # Not clipped: the loss is ∞ if the true class has a posterior of 0.
        own = own_log_proba(rows.log_proba, rows.codes, least=-np.inf)
        squares = squared_errors(rows.log_proba, rows.codes)
        return cls(np.array(curves), np.array([w @ own, w @ squares, w.sum()]))

    def __add__(self, other: BinSums) -> BinSums:
        return BinSums(self.curves + other.curves, self.means + other.means)

    def reliability(self) -> Reliability:
        """The curve and the scores of the summed rows."""
        predicted, *classes = (_curve(sums) for sums in self.curves)
        log_loss, brier = -self.means[0] / self.means[2], self.means[1] / self.means[2]
        errors = [_error(*curve) for curve in classes]
        return Reliability(
            *predicted, _error(*predicted), float(np.mean(errors)), float(log_loss), float(brier)
        )


@dataclass(frozen=True)
class ReliabilityBins(Sums):
    """The sums of a reliability curve with bins of equal width."""

    bins: int = 15

    def of(self, rows: Predictions) -> BinSums:
        """The sums of these rows."""
        return BinSums.of(rows, self.bins)

    def packed(self, found: BinSums) -> list[np.ndarray]:
        return [found.curves, found.means]

    def unpacked(self, plain: list[np.ndarray]) -> BinSums:
        return BinSums(*plain)


def _bin_sums(
    p: np.ndarray, hit: np.ndarray, w: np.ndarray, bins: int, strategy: str
) -> np.ndarray:
    """(bins, 3) Σ w, Σ w p and Σ w hit of each bin."""
    if strategy == "width":
        bin_of = np.minimum((p * bins).astype(np.intp), bins - 1)
    else:  # rows with equal confidence are in the same bin
        order = np.argsort(p, kind="stable")
        below = np.cumsum(w[order]) - w[order]
        first = np.searchsorted(p[order], p, side="left")
        bin_of = np.minimum((below[first] / w.sum() * bins).astype(np.intp), bins - 1)
    return np.stack([np.bincount(bin_of, part, bins) for part in (w, w * p, w * hit)], axis=1)


def _curve(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean confidence, the share of hits and the weight of each bin with rows."""
    weight, confidence, hits = sums[sums[:, 0] > 0].T
    return confidence / weight, hits / weight, weight


def _error(confidence: np.ndarray, share: np.ndarray, weight: np.ndarray) -> float:
    """The expected calibration error of a curve."""
    return weighted_mean(np.abs(share - confidence), weight)


def _log_posteriors(proba: Any, log_proba: Any) -> np.ndarray:
    """(n, C) log-posteriors, checked."""
    if (proba is None) == (log_proba is None):
        given = "neither" if proba is None else "both"
        raise VerosimError(
            f"Either proba or log_proba must be given; got {given}.", "Give one of the two."
        )
    if log_proba is None:
        p = number_array("proba", proba, 2)
        if not (p >= 0).all():
            row = np.flatnonzero(~(p >= 0).all(axis=1))[0]
            raise VerosimError(
                f"A posterior of row {row} is negative or nan.",
                "Use log_proba= for logarithms of posteriors.",
            )
        with np.errstate(divide="ignore"):
            out = np.log(p)
    else:
        out = number_array("log_proba", log_proba, 2)
    if not out.size:
        raise VerosimError(f"The posteriors must have the shape (n, C); got {out.shape}.")
    total = np.exp(logsumexp(out, axis=1))
    off = np.flatnonzero(~(np.abs(total - 1) < 1e-6))
    if len(off):
        raise VerosimError(
            f"The posteriors of row {off[0]} sum to {total[off[0]]:g} instead of 1.",
            "Use the result of predict_proba, or log_proba= with that of predict_log_proba.",
        )
    return out


def _codes(labels: Any, classes: Any, n: int, C: int) -> np.ndarray:
    """(n,) the column of the label of each row."""
    labels = one_column(labels)
    found = encode_labels(labels)[1]
    known = found if classes is None else one_column(classes)
    if len(known) != C:
        raise VerosimError(
            f"There are {len(known)} classes but {C} columns of posteriors.",
            "Use classes=model.classes_.",
        )
    check_known(found, known)
    codes = positions(labels, known)
    if len(codes) != n:
        raise VerosimError(f"There are {len(codes)} labels but {n} rows of posteriors.")
    return codes
