"""Which columns and classes have changed between two sets of rows, from sums alone.

    nats per row of a column      KL(q ‖ p) = Σ_v q(v) log q(v)/p(v)
    population stability index    PSI = KL(q ‖ p) + KL(p ‖ q) = Σ_v (q(v) − p(v)) log q(v)/p(v)

p is the distribution of the column in the first rows, and q in the second rows. Columns of numbers
use Gaussians with the means and variances of the two sums. References: Kullback & Leibler (1951),
On information and sufficiency; Yurdakul (2018), Statistical properties of population stability
index.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import chi2
from sklearn.base import clone

from verosim.axes.groups import plain_label
from verosim.data.adapters import opened_as
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, StatisticClassifier
from verosim.kinds.missing import MISSING
from verosim.validate.cross_validation import check_generative
from verosim.validate.diagnosis.model import LOOKED_AT_AS, kind_of_part

if TYPE_CHECKING:
    from verosim.typing import FileOptions, Labels, Source

HALF_ROW = 0.5  # added to each count, so that no share is zero
NOTABLE_INDEX = 0.1  # a smaller index is usually not a reason to act
MOST_DRIFTED_COLUMNS = 30


@dataclass(frozen=True, eq=False)
class Drift:
    """How far the columns and the classes of two sets of rows differ, the result of :func:`drift`.

    The object prints the columns, with the largest index first, and then the classes. A column has
    drifted if its index is above 0.1 and above the 95 % quantile of chance.

    Attributes
    ----------
    columns : tuple of str
        The columns, with the largest index first.
    nats : ndarray of shape (d,)
        KL(q ‖ p) of each column, in nats per row.
    index : ndarray of shape (d,)
        The population stability index of each column.
    by_chance : ndarray of shape (d,)
        The index that chance exceeds in 5 % of the cases if nothing has changed.
    drifted : ndarray of bool of shape (d,)
        Whether each column has drifted.
    classes : ndarray of shape (C,)
        The class labels of both sets of rows.
    shares : ndarray of shape (2, C)
        The share of each class in the first and in the second rows.
    class_nats : ndarray of shape (C,)
        The sum over the columns of KL(q ‖ p) within each class; nan if one set has no such rows.
    class_index : float
        The population stability index of the shares of the classes.
    rows : tuple of float
        The number of the first and of the second rows.
    left_out : tuple of str
        The parts of the model that are not compared, such as texts.

    References
    ----------
    Yurdakul (2018), Statistical properties of population stability index.

    Examples
    --------
    >>> import verosim
    >>> old = {"x": [1.0, 2.0, 3.0, 4.0] * 50, "y": ["a", "a", "b", "b"] * 50}
    >>> new = {"x": [3.0, 4.0, 5.0, 6.0] * 50, "y": ["a", "a", "b", "b"] * 50}
    >>> found = verosim.drift(verosim.GaussianNB().fit(old, "y"), new)
    >>> found.columns, found.drifted.tolist(), round(float(found.nats[0]), 2)
    (('x',), [True], 1.6)
    """

    columns: tuple[str, ...]
    nats: np.ndarray  # (d,)
    index: np.ndarray  # (d,)
    by_chance: np.ndarray  # (d,)
    classes: np.ndarray  # (C,)
    shares: np.ndarray  # (2, C)
    class_nats: np.ndarray  # (C,)
    class_index: float
    rows: tuple[float, float]
    left_out: tuple[str, ...] = ()

    @property
    def drifted(self) -> np.ndarray:
        """(d,) whether each column has drifted."""
        return self.index > np.maximum(self.by_chance, NOTABLE_INDEX)

    def __str__(self) -> str:
        lines: list[tuple[str, ...]] = [("column", "nats per row", "PSI", "by chance", "")]
        for j, name in enumerate(self.columns[:MOST_DRIFTED_COLUMNS]):
            numbers = (f"{x[j]:.4f}" for x in (self.nats, self.index, self.by_chance))
            lines.append((name, *numbers, "drifted" if self.drifted[j] else ""))
        more = len(self.columns) - MOST_DRIFTED_COLUMNS
        by_class: list[tuple[str, ...]] = [
            ("class", "share before", "share after", "nats per row", "")
        ]
        for k, label in enumerate(self.classes):
            nats = "–" if np.isnan(self.class_nats[k]) else f"{self.class_nats[k]:.4f}"
            before, after = self.shares[:, k]
            by_class.append((str(plain_label(label)), f"{before:.4f}", f"{after:.4f}", nats, ""))
        text = [f"{self.rows[0]:,.10g} rows before, {self.rows[1]:,.10g} rows after", ""]
        text += [*_in_columns(lines), *([f"… {more:,} more columns"] if more > 0 else []), ""]
        text += [*_in_columns(by_class), f"PSI of the classes {self.class_index:.4f}"]
        if self.left_out:
            text.append(f"not compared: {', '.join(self.left_out)}")
        return "\n".join(text)

    __repr__ = __str__


def _in_columns(lines: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
    return [
        "  ".join(
            cell.rjust(width) if 0 < c < 4 else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def drift(
    model: GenerativeClassifier,
    other: GenerativeClassifier | Source,
    y: Labels | None = None,
    *,
    read: FileOptions | None = None,
) -> Drift:
    """Measure which columns and classes have changed since a model was fitted.

    The second rows are those of another model, or a table. Only the sums of the models are
    compared, so no rows of the fit are needed:

        KL(q ‖ p) = Σ_v q(v) log q(v)/p(v),   PSI = Σ_v (q(v) − p(v)) log q(v)/p(v)

    where p are the shares of the values v in the first rows, and q in the second rows. Half a row
    is added to each count. A column of numbers is compared by the Gaussians of its means and
    variances, and a histogram by its bins. If nothing has changed, the index is about
    χ²(f) (1/n + 1/m), where n and m are the numbers of rows, and f is 2 for a Gaussian and the
    number of values minus 1 otherwise.

    Parameters
    ----------
    model : generative classifier
        A fitted model with independent columns, or a Gaussian model.
    other : generative classifier or table
        Another fitted model with the same schema, or rows with labels.
    y : array-like of shape (n,), str or None, default=None
        The labels of the rows, or the name of the target column. None uses the target of the fit.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
        `verosim.read`. None means that the files are examined.

    Returns
    -------
    Drift
        The nats per row and the index of each column, and the shares of the classes.

    Raises
    ------
    VerosimError
        If the two models do not have the same columns, or if the model has no columns that can be
        compared, such as a model of texts.

    References
    ----------
    Kullback & Leibler (1951), On information and sufficiency, Annals of Mathematical Statistics 22.
    Yurdakul (2018), Statistical properties of population stability index.

    Examples
    --------
    >>> import verosim
    >>> old = {"hue": ["red", "red", "blue", "blue"] * 50, "kind": ["a", "b"] * 100}
    >>> new = {"hue": ["red", "red", "red", "blue"] * 50, "kind": ["a", "b"] * 100}
    >>> verosim.drift(verosim.NaiveBayes().fit(old, "kind"), new)
    200 rows before, 200 rows after
    <BLANKLINE>
    column  nats per row     PSI  by chance
    hue           0.1294  0.2716     0.0384  drifted
    <BLANKLINE>
    class  share before  share after  nats per row
    a            0.5000       0.5000        0.6619
    b            0.5000       0.5000        0.0000
    PSI of the classes 0.0000
    """
    check_generative(model, "drift")
    state = model.checked_state()
    if not any(_is_comparable(name, part) for name, part in state.statistic.named_parts()):
        raise VerosimError(
            f"The sums of {type(model).__name__} have no columns to compare.",
            "Use a model with independent columns, such as NaiveBayes.",
        )
    if isinstance(other, StatisticClassifier):
        theirs = other.checked_state()
        after = theirs.statistic
        if state.schema is not None and theirs.schema is not None:
            state.schema.check_merges(theirs.schema)
    else:
        target = y if y is not None or state.schema is None else state.schema.target
        rows = opened_as(other, read)
        after = clone(model).fit(rows, target, schema=state.schema).checked_state().statistic
    parts_after = dict(after.named_parts())
    found: list[_PartDrift] = []
    left_out = []
    part: Any
    for name, part in state.statistic.named_parts():
        if _is_comparable(name, part) and name in parts_after:
            found.append(_compared(kind_of_part(name, part), part, parts_after[name]))
        elif name != MISSING.name:
            left_out.append(name)
    nats, index, free = (
        np.concatenate([getattr(one, field) for one in found])
        for field in ("nats", "index", "free")
    )
    names = [name for one in found for name in one.names]
    classes, before_share, after_share = found[0].classes, *found[0].class_weight
    n, m = before_share.sum(), after_share.sum()
    order = np.argsort(-index, kind="stable")
    p, q = _share(before_share), _share(after_share)
    return Drift(
        tuple(names[j] for j in order), nats[order], index[order],
        (chi2.ppf(0.95, np.maximum(free, 1)) * (1 / n + 1 / m))[order], classes,
        np.array([before_share / n, after_share / m]),
        np.sum([one.class_nats for one in found], axis=0),
        float(((q - p) * np.log(q / p)).sum()), (float(n), float(m)), tuple(left_out),
    )  # fmt: skip


def _is_comparable(name: str, part: Any) -> bool:
    """Whether the columns of a part have sums of their own. Those of a pool do not."""
    if part.sums_of not in LOOKED_AT_AS or not part.has_sums:
        return False
    return kind_of_part(name, part) in ("numbers", "codes", "bins")


@dataclass(frozen=True)
class _PartDrift:
    """The comparison of one part of the sums."""

    names: list[str]
    nats: np.ndarray  # (d,)
    index: np.ndarray  # (d,)
    free: np.ndarray  # (d,) free parameters of the distribution of each column
    classes: np.ndarray  # (C,)
    class_weight: tuple[np.ndarray, np.ndarray]  # (C,) before and after
    class_nats: np.ndarray  # (C,)


def _compared(kind: str, before: Any, after: Any) -> _PartDrift:
    """The drift of the columns of a part."""
    if kind == "numbers":
        before, after = before.available(), after.available()
    a, b = before.on_common_axes(after)
    names = list(a.axes.columns)
    weight = a.weight[:, 0], b.weight[:, 0]
    there = (weight[0] > 0) & (weight[1] > 0)
    if kind == "numbers":
        (W, mean, var), (V, mean_b, var_b) = _numbers(a), _numbers(b)
        inside = _gaussian(mean, var, mean_b, var_b)
        all_a, all_b = _all_classes(W, mean, var), _all_classes(V, mean_b, var_b)
        nats = _gaussian(*all_a, *all_b)
        index = nats + _gaussian(*all_b, *all_a)
        free = np.full(len(names), 2)
    else:
        tables = [_tables(one) for one in (a, b)]
        nats, index, free = np.zeros(len(names)), np.zeros(len(names)), np.zeros(len(names))
        inside = np.zeros((len(weight[0]), len(names)))
        for j, (one, two) in enumerate(zip(*tables, strict=True)):
            p, q = _share(one.sum(axis=0)), _share(two.sum(axis=0))
            nats[j], index[j] = (q * np.log(q / p)).sum(), ((q - p) * np.log(q / p)).sum()
            free[j] = one.shape[1] - 1
            p, q = _share(one), _share(two)  # within each class
            inside[:, j] = (q * np.log(q / p)).sum(axis=1)
    class_nats = np.where(there, inside.sum(axis=1), np.nan)
    return _PartDrift(names, nats, index, free, a.axes.groups.classes, weight, class_nats)


def _share(count: np.ndarray) -> np.ndarray:
    """(…, K) shares, with half a row more for each value."""
    smoothed = np.maximum(count, 0.0) + HALF_ROW
    return smoothed / smoothed.sum(axis=-1, keepdims=True)


def _tables(statistic: Any) -> list[np.ndarray]:
    """For each column, the weights (C, K) of its values."""
    count = statistic.arrays["count"][:, 0]
    if statistic.sums_of == "presence":
        seen = statistic.weight[:, 0, None] - statistic.arrays["missing"][:, 0]
        return [np.stack([count[:, j], seen[:, j] - count[:, j]], 1) for j in range(count.shape[1])]
    first = statistic.axes.codes.first
    return [count[:, a:b] for a, b in pairwise(first)]


def _numbers(moments: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(C, d) weight, mean and variance of each class. Pooled sums have one variance for all."""
    S = moments.arrays["sum"][:, 0]
    W = np.broadcast_to(moments.weights[:, 0], S.shape)
    safe = np.where(W > 0, W, 1.0)
    mean = np.where(W > 0, np.nan_to_num(moments.arrays["pivot"]) + S / safe, 0.0)
    if moments.layout == "pooled":
        within = moments.squares().sum(axis=0) - (S * S / safe).sum(axis=0)
        var = np.broadcast_to(within / np.maximum(W.sum(axis=0), 1.0), S.shape)
    else:
        var = moments.squares()[:, 0] / safe - (S / safe) ** 2
    return W, mean, np.where(W > 0, np.maximum(var, 0.0), 0.0)


def _all_classes(W: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d,) the mean and the variance of all rows."""
    total = np.maximum(W.sum(axis=0), HALF_ROW)
    centre = (W * mean).sum(axis=0) / total
    return centre, (W * (var + (mean - centre) ** 2)).sum(axis=0) / total


def _gaussian(mean: Any, var: Any, mean_b: Any, var_b: Any) -> np.ndarray:
    """KL(N(mean_b, var_b) ‖ N(mean, var)); 0 if both are the same constant."""
    least = 1e-9 * (var + var_b)
    p, q = np.maximum(var, least), np.maximum(var_b, least)
    constant = (p == 0) & (q == 0)
    p, q = np.where(constant, 1.0, p), np.where(constant, 1.0, q)
    nats = 0.5 * (np.log(p / q) + (q + (mean_b - mean) ** 2) / p - 1)
    return np.where(constant, np.where(mean == mean_b, 0.0, np.inf), np.maximum(nats, 0.0))
