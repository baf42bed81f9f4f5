"""The area under the ROC curve from a histogram of log-odds, for rows that are not in one place.

    AUC ≈ Σ_b p_b (n_below(b) + n_b / 2),   |error| ≤ ½ Σ_b p_b n_b

p_b and n_b are the shares of the rows with and without the class that are in bin b, and n_below(b)
is the share of the rows without the class in lower bins. Only the order of rows inside one bin is
unknown, which gives the bound. The 2¹⁶ bins have equal widths in arsinh(1000 log-odds): near zero
they are 6·10⁻⁷ wide, and far from zero 0.06 % of the log-odds.
Reference: Hanley & McNeil (1982), The meaning and use of the area under a ROC curve, Radiology 143.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verosim.errors import VerosimWarning, warn
from verosim.folds.scores import Predictions, Score

RANK_BINS = 1 << 16
LOG_ODDS_SCALE = 1e3
LARGEST_PLACE = float(np.arcsinh(1e5 * LOG_ODDS_SCALE))  # beyond 10⁵ is the first or the last bin
MOST_ERROR = 1e-3  # a larger bound is a warning
AVERAGES = {  # how the areas of several classes become one
    "roc_auc": "none", "roc_auc_ovr": "macro", "roc_auc_ovr_weighted": "weighted",
}  # fmt: skip


def bins_of(log_odds: np.ndarray) -> np.ndarray:
    """(n,) the bin of each log-odds."""
    place = (np.arcsinh(LOG_ODDS_SCALE * log_odds) / LARGEST_PLACE + 1) * (RANK_BINS / 2)
    return np.clip(place, 0, RANK_BINS - 1).astype(np.intp)


def log_odds_of(log_proba: np.ndarray, k: int) -> np.ndarray:
    """(n,) log p(k | x) − log Σ_{j ≠ k} p(j | x), finite."""
    least = np.log(np.finfo(float).tiny)
    own = np.maximum(log_proba[:, k], least)
    others = np.maximum(np.delete(log_proba, k, axis=1), least)
    top = others.max(axis=1)
    found: np.ndarray = own - top - np.log(np.exp(others - top[:, None]).sum(axis=1))
    return found


def area(counts: np.ndarray) -> tuple[float, float]:
    """The area and its bound, from (2, bins) the weight of the rows without and with the class."""
    totals = counts.sum(axis=1)
    if not totals.all():
        return float("nan"), 0.0
    without, having = counts / totals[:, None]
    below = np.cumsum(without) - without
    return float(having @ (below + without / 2)), float(having @ without / 2)


@dataclass(frozen=True)
class HistogramArea(Score):
    """The area under the ROC curve of each class, from the weights of its rows in each bin.

    A part is (classes, 2, bins), where two classes need only one histogram.
    """

    name: str

    def part(self, rows: Predictions) -> np.ndarray:
        C = len(rows.classes)
        weights = rows.weights if len(rows.weights) else None
        found = []
        for k in [1] if C == 2 else range(C):
            at = bins_of(log_odds_of(rows.log_proba, k)) + RANK_BINS * (rows.codes == k)
            found.append(np.bincount(at, weights, 2 * RANK_BINS).reshape(2, RANK_BINS))
        return np.array(found, dtype=np.float64)

    def joined(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        total = parts[0].copy()
        for part in parts[1:]:
            total += part
        return total

    def value(self, parts: list[np.ndarray]) -> float:
        if not parts:
            return float("nan")
        counts = self.joined(parts)
        areas = np.array([area(one) for one in counts])  # (classes, 2)
        own = counts[:, 1].sum(axis=1)
        shares = own / own.sum() if AVERAGES[self.name] == "weighted" else np.ones(len(own))
        found, bound = np.average(areas, axis=0, weights=shares)
        if bound > MOST_ERROR:
            warn(
                f"The score {self.name!r} of a fold is known up to ±{bound:.1g}, because many rows "
                "have nearly the same log-odds.",
                VerosimWarning,
            )
        return float(found)
