"""The built-in feature maps of `Perceptron` as data, and back.

    polynomial   the number of columns d
    fourier      the scales of the columns, the frequencies ω and the offsets b

The transformers of scikit-learn are made again from these numbers, so a file names no class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from verosim.stats.plain_trees import damaged
from verosim.twins.features import feature_map


@dataclass(frozen=True)
class PolynomialMap:
    """All columns and all products of two columns."""

    columns: int  # d

    @property
    def size(self) -> int:
        """The number of features."""
        return self.columns * (self.columns + 3) // 2

    def transformer(self) -> Any:
        """The fitted transformer. It depends only on the number of columns."""
        return feature_map("polynomial", 0).fit(np.zeros((1, self.columns)))


@dataclass(frozen=True)
class FourierMap:
    """Random Fourier features of scaled columns."""

    seed: int
    rows: float
    mean: np.ndarray  # (d,)
    variance: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)
    gamma: float
    frequencies: np.ndarray  # (d, D)
    offsets: np.ndarray  # (D,)

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.scale)

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.offsets)

    def transformer(self) -> Any:
        """The fitted transformer."""
        out = feature_map("fourier", self.seed)
        scaler, waves = (one for _, one in out.steps)
        scaler.fit(np.zeros((1, self.columns)))
        scaler.mean_, scaler.var_, scaler.scale_ = self.mean, self.variance, self.scale
        scaler.n_samples_seen_ = np.float64(self.rows)
        waves.set_params(n_components=self.size).fit(np.zeros((1, self.columns)))
        vars(waves)["_gamma"] = np.float64(self.gamma)
        waves.random_weights_, waves.random_offset_ = self.frequencies, self.offsets
        return out


SavedMap = PolynomialMap | FourierMap


def saved_map(fitted: Any) -> SavedMap | None:
    """A fitted built-in feature map as data; None if it is another transformer."""
    if type(fitted) is PolynomialFeatures:
        return PolynomialMap(int(fitted.n_features_in_))
    steps = [one for _, one in fitted.steps] if type(fitted) is Pipeline else []
    if [type(one) for one in steps] != [StandardScaler, RBFSampler]:
        return None
    scaler, waves = steps
    return FourierMap(
        int(waves.random_state), float(scaler.n_samples_seen_), scaler.mean_, scaler.var_,
        scaler.scale_, float(vars(waves).get("_gamma", 1.0)), waves.random_weights_,
        waves.random_offset_,
    )  # fmt: skip


def built_map(saved: SavedMap, columns: int, features: int) -> Any:
    """The transformer of a file, if it gives so many features of so many columns."""
    if not 1 <= columns == saved.columns or saved.size != features:
        raise damaged("the features of Perceptron are not those of its columns")
    if isinstance(saved, FourierMap):
        numbers = (saved.scale, saved.frequencies, saved.offsets)
        finite = all(np.isfinite(one).all() for one in numbers)
        if not finite or saved.scale.min() < np.finfo(float).tiny or not 0 <= saved.seed < 1 << 32:
            raise damaged("the features of Perceptron have wrong numbers")
    return saved.transformer()
