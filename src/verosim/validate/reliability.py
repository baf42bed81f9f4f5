"""A posterior is calibrated if, of all rows it calls k with confidence p, a share p are k.

    ECE = Σ_b (W_b / W) |accuracy_b − confidence_b|        over bins b of the confidence

Reference: Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from verosim.data import as_weights, encode_labels
from verosim.data.labels import check_known, positions
from verosim.errors import VerosimError
from verosim.folds.scores import (
    Predictions,
    Sums,
    is_correct,
    own_log_proba,
    squared_errors,
    weighted_mean,
)
from verosim.models.settings import one_of


@dataclass(frozen=True)
class Reliability:
    """How far posteriors can be taken at their word. Bins without rows are left out."""

    confidence: np.ndarray  # (B,) mean posterior of the class called, by bin
    accuracy: np.ndarray  # (B,) share of rows called right
    weight: np.ndarray  # (B,) weight of the rows
    error: float  # expected calibration error of the class called
    classwise_error: float  # the same for each class's own posterior, mean over classes
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


def reliability(
    labels: Any,
    proba: Any = None,
    classes: Any = None,
    *,
    log_proba: Any = None,
    bins: int = 15,
    strategy: str = "width",
    sample_weight: Any = None,
) -> Reliability:
    """The reliability curve of the class called, its expected calibration error, and scores.

    ECE = Σ_b (W_b / W) |accuracy_b − confidence_b|

    Bins of equal width leave empty those no row falls into; bins of equal mass hold as many rows
    each. By class, the bins are of p(k | x) and the shares those of class k, for every k.

    Parameters
    ----------
    labels : (n,) the true labels
    proba : (n, C) posteriors; or
    log_proba : (n, C) their logarithms, which tell 1e-300 from 0 and so give the exact log-loss
    classes : (C,) the labels of the columns, `model.classes_`; by default those of `labels`, sorted
    bins : number of bins
    strategy : "width" (bins of equal width) or "mass" (of equal weight)
    sample_weight : (n,) weights of the rows

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning. Kull et al. (2019), Beyond temperature scaling (the error by class). Brier (1950),
    Verification of forecasts expressed in terms of probability.

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
    w = as_weights(sample_weight if np.size(sample_weight) else None, n)
    w = w if len(w) else np.ones(n)
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise VerosimError(f"bins={bins!r}: a whole number of bins, one or more.")
    one_of("strategy", strategy, ("width", "mass"))
    rows = Predictions(log_p[w > 0], codes[w > 0], w[w > 0], np.arange(C))
    return BinSums.of(rows, int(bins), strategy).reliability()


@dataclass(frozen=True)
class BinSums:
    """Sums over rows, by bin of a posterior: those of some rows and of others add."""

    curves: (
        np.ndarray
    )  # (1 + C, bins, 3) Σ w, Σ w p, Σ w hit: of the class predicted, of each class
    means: np.ndarray  # (3,) Σ w log p(y | x), Σ w Σ_k (p_k − [y = k])², Σ w

    @classmethod
    def of(cls, rows: Predictions, bins: int, strategy: str = "width") -> BinSums:
        p, w, n = np.exp(rows.log_proba), rows.weights, len(rows.codes)
        w = w if len(w) else np.ones(n)
        predicted = p[np.arange(n), rows.log_proba.argmax(axis=1)]
        pairs = [(predicted, is_correct(rows.log_proba, rows.codes))]
        pairs += [(p[:, k], rows.codes == k) for k in range(p.shape[1])]
        curves = [_bin_sums(posterior, hit, w, bins, strategy) for posterior, hit in pairs]
        # Not clipped: a class that is held to be impossible costs ∞.
        own = own_log_proba(rows.log_proba, rows.codes, least=-np.inf)
        squares = squared_errors(rows.log_proba, rows.codes)
        return cls(np.array(curves), np.array([w @ own, w @ squares, w.sum()]))

    def __add__(self, other: BinSums) -> BinSums:
        return BinSums(self.curves + other.curves, self.means + other.means)

    def reliability(self) -> Reliability:
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
        return BinSums.of(rows, self.bins)


def _bin_sums(
    p: np.ndarray, hit: np.ndarray, w: np.ndarray, bins: int, strategy: str
) -> np.ndarray:
    """(bins, 3) Σ w, Σ w p and Σ w hit of every bin."""
    if strategy == "width":
        bin_of = np.minimum((p * bins).astype(np.intp), bins - 1)
    else:  # rows of one confidence stay together
        order = np.argsort(p, kind="stable")
        below = np.cumsum(w[order]) - w[order]
        first = np.searchsorted(p[order], p, side="left")
        bin_of = np.minimum((below[first] / w.sum() * bins).astype(np.intp), bins - 1)
    return np.stack([np.bincount(bin_of, part, bins) for part in (w, w * p, w * hit)], axis=1)


def _curve(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean confidence, share of hits and weight of every bin that has rows."""
    weight, confidence, hits = sums[sums[:, 0] > 0].T
    return confidence / weight, hits / weight, weight


def _error(confidence: np.ndarray, share: np.ndarray, weight: np.ndarray) -> float:
    return weighted_mean(np.abs(share - confidence), weight)


def _log_posteriors(proba: Any, log_proba: Any) -> np.ndarray:
    if (proba is None) == (log_proba is None):
        raise VerosimError("Posteriors are needed, once.", "either proba= or log_proba=.")
    if log_proba is None:
        p = np.asarray(proba, dtype=np.float64)
        if p.ndim == 2 and not (p >= 0).all():
            raise VerosimError("A posterior is negative or not a number.", "log_proba= for logs.")
        with np.errstate(divide="ignore"):
            out = np.log(p)
    else:
        out = np.asarray(log_proba, dtype=np.float64)
    if out.ndim != 2 or not out.size:
        raise VerosimError(f"Posteriors have the shape (n, C), not {out.shape}.")
    total = np.exp(logsumexp(out, axis=1))
    off = np.flatnonzero(~(np.abs(total - 1) < 1e-6))
    if len(off):
        raise VerosimError(
            f"The posteriors of row {off[0]} sum to {total[off[0]]:g}, not to 1.",
            "predict_proba(X), or log_proba=predict_log_proba(X).",
        )
    return out


def _codes(labels: Any, classes: Any, n: int, C: int) -> np.ndarray:
    """(n,) the column of every row's label."""
    found = encode_labels(labels)[1]
    known = found if classes is None else np.asarray(classes)
    if len(known) != C:
        raise VerosimError(
            f"There are {len(known)} classes and {C} columns of posteriors.",
            "classes=model.classes_ says which column is which.",
        )
    check_known(found, known)
    codes = positions(labels, known)
    if len(codes) != n:
        raise VerosimError(f"There are {len(codes)} labels and posteriors of {n} rows.")
    return codes
