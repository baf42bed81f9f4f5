"""Whitening removes the correlation of neighbouring pixels in patches of images.

    Σ = 1/n Σ_i (x_i − μ)(x_i − μ)ᵀ,   z_i = Σ^(−½)(x_i − μ),   covariance of z = I

A patch of 4 × 4 pixels is a row of 16 numbers. Neighbouring pixels are alike, so Σ is far from a
multiple of I. After whitening with the symmetric root, a patch still looks like itself, but only
what its neighbours do not predict is left: edges stay, and smooth areas disappear.
Reference: Bell & Sejnowski (1997), The independent components of natural scenes are edge filters.

    python -m examples.lessons patches
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from examples.lessons.style import BLUE, RED, plain_numbers
from verosim import Whiten

SIZE = (8.6, 5.3)  # of the picture, in inches
WIDTH = 4  # of a patch, in pixels
SHOWN = 48  # patches in the picture


@dataclass(frozen=True)
class Lesson:
    X: np.ndarray  # (n, 16) one patch per row
    whiten: Whiten
    shown: np.ndarray  # (48,) the numbers of the patches in the picture

    @property
    def Z(self) -> np.ndarray:
        """(n, 16) the whitened patches."""
        return self.whiten.transform(self.X)

    @staticmethod
    def correlation(X: np.ndarray) -> float:
        """The mean correlation of a pixel with its neighbour to the right."""
        C = np.corrcoef(X.T)
        pairs = [(i, i + 1) for i in range(WIDTH**2) if (i + 1) % WIDTH]
        return float(np.mean([C[pair] for pair in pairs]))

    def __str__(self) -> str:
        lines = [
            f"{len(self.X):,} patches of {WIDTH} × {WIDTH} pixels",
            f"{'':<16} {'smallest variance':>18} {'largest':>8} {'neighbours':>11} "
            f"{'|cov − I|':>10}",
        ]
        for name, X in (("before", self.X), ("after whitening", self.Z)):
            covariance = np.cov(X.T, bias=True)
            lengths = np.linalg.eigvalsh(covariance)
            gap = np.abs(covariance - np.eye(WIDTH**2)).max()
            far = "< 1e-10" if gap < 1e-10 else f"{gap:.1f}"
            correlation = round(self.correlation(X), 6) + 0.0
            lines.append(
                f"{name:<16} {lengths[0]:>18.2f} {lengths[-1]:>8.2f} {correlation:>11.2f} {far:>10}"
            )
        return "\n".join(lines)


def patches(images: np.ndarray) -> np.ndarray:
    """(n, 16) all patches of images (m, 8, 8), one row each."""
    windows = np.lib.stride_tricks.sliding_window_view(images, (WIDTH, WIDTH), axis=(1, 2))
    return windows.reshape(-1, WIDTH**2).astype(float)


def learn() -> Lesson:
    """Cut the digits of scikit-learn into patches, and whiten them."""
    X = patches(load_digits().images)
    inked = np.flatnonzero(X.std(axis=1) > 3)  # a patch without ink shows nothing
    shown = np.sort(np.random.default_rng(5).choice(inked, SHOWN, replace=False))
    return Lesson(X, Whiten(of="total").fit(X), shown)


def draw(found: Lesson, figure: Any) -> None:
    upper, lower = figure.subplots(2, 3, width_ratios=(1.3, 1, 1))
    for (patch, cov, _), X, word in (
        (upper, found.X, "before"), (lower, found.Z, "after whitening")
    ):  # fmt: skip
        _mosaic(patch, X[found.shown], 8, f"patches {word}")
        covariance = np.cov(X.T, bias=True)
        top = np.abs(covariance).max()
        cov.imshow(covariance, cmap="PuOr", vmin=-top, vmax=top)
        cov.set(xticks=[], yticks=[], title=f"covariance {word}")
    _mosaic(upper[2], found.whiten.whitener_, 4, "rows of $\\Sigma^{-1/2}$", True)
    ax = lower[2]
    for X, word, colour, marker in (
        (found.X, "before", BLUE, "o"), (found.Z, "after whitening", RED, "s")
    ):  # fmt: skip
        lengths = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
        ax.plot(range(1, WIDTH**2 + 1), lengths, color=colour, marker=marker, ms=4, label=word)
    ax.set(yscale="log", xlabel="axis of $\\Sigma$", title="variance along each axis")
    ax.set_xticks([1, 4, 8, 12, 16])
    plain_numbers(ax.yaxis)
    ax.legend(loc="upper right")


def _mosaic(ax: Any, rows: np.ndarray, across: int, title: str, signed: bool = False) -> None:
    """Draw rows of 16 pixels as small images with a gap between them."""
    down = -(-len(rows) // across)
    step = WIDTH + 1
    sheet = np.full((down * step - 1, across * step - 1), np.nan)
    for i, row in enumerate(rows):
        r, c = divmod(i, across)
        sheet[r * step : r * step + WIDTH, c * step : c * step + WIDTH] = row.reshape(WIDTH, WIDTH)
    if signed:
        top = np.nanmax(np.abs(sheet))
        ax.imshow(sheet, cmap="PuOr", vmin=-top, vmax=top)
    else:
        low, high = np.nanquantile(sheet, (0.01, 0.99))
        ax.imshow(sheet, cmap="gray_r", vmin=low, vmax=high)
        ax.set_facecolor("#D3E3EE")  # the gaps
    ax.set(xticks=[], yticks=[], title=title)
    ax.spines[:].set_visible(False)


SPANISH = {
    "patches before": "parches antes",
    "patches after whitening": "parches después del blanqueo",
    "covariance before": "covarianza antes",
    "covariance after whitening": "covarianza después",
    "variance along each axis": "varianza a lo largo de cada eje",
    "axis of $\\Sigma$": "eje de $\\Sigma$",
    "before": "antes",
    "after whitening": "después del blanqueo",
    "rows of $\\Sigma^{-1/2}$": "filas de $\\Sigma^{-1/2}$",
}
