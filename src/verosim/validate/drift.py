"""Which columns and classes have changed between two sets of rows, from sums alone.

    nats per row of a column      KL(q ‖ p) = Σ_v q(v) log q(v)/p(v)
    population stability index    PSI = KL(q ‖ p) + KL(p ‖ q) = Σ_v (q(v) − p(v)) log q(v)/p(v)

p is the distribution of the column in the first rows, and q in the second rows. Columns of numbers
use Gaussians with the means and variances of the two sums. References: Kullback & Leibler (1951),
On information and sufficiency; Yurdakul (2018), Statistical properties of population stability
index.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from verosim.arguments import checked
from verosim.axes.groups import plain_label
from verosim.data.adapters import opened_as
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, StatisticClassifier
from verosim.folds.inputs import inputs_of
from verosim.models import State
from verosim.models.learning import sums_of_rows
from verosim.stats.hollow import check_has_sums
from verosim.terminal import in_lines, table_lines
from verosim.validate.column_drift import both_places, column_drifts, parts_of, smoothed_shares
from verosim.validate.cross_validation import check_generative

if TYPE_CHECKING:
    from verosim.typing import FileOptions, Labels, Source

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
        The columns that are not compared, such as columns with other bins in the two models.
    tokens : dict of str to tuple
        For each column of texts, the ten tokens that add most to its index, with their shares
        before and after.

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
    tokens: dict[str, tuple[tuple[str, float, float], ...]] = field(default_factory=dict)

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
        text += table_lines(lines, (1, 2, 3))
        text += [*([f"… {more:,} more columns"] if more > 0 else []), ""]
        text += [*table_lines(by_class, (1, 2, 3)), f"PSI of the classes {self.class_index:.4f}"]
        for name, some in self.tokens.items():
            shares: list[tuple[str, ...]] = [(f"token of {name}", "share before", "share after")]
            shares += [(token, f"{p:.5f}", f"{q:.5f}") for token, p, q in some]
            text += ["", *table_lines(shares, (1, 2))]
        if self.left_out:
            text.append(f"not compared: {', '.join(self.left_out)}")
        return in_lines(text)

    __repr__ = __str__


@checked
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
    before = parts_of(state)
    check_has_sums(state.statistic, "drift")
    if not before:
        raise VerosimError(
            f"The sums of {type(model).__name__} have no columns to compare.",
            "Use a model with sums of single columns, such as NaiveBayes.",
        )
    if isinstance(other, StatisticClassifier):
        second = other.checked_state()
        _check_same_target(state, second)
    else:
        inputs = inputs_of(opened_as(other, read), y, known=state.schema)
        second = replace(state, statistic=sums_of_rows(model.spec(), state, inputs))
    found = column_drifts(before, parts_of(second))
    names = [name for one in found for name in one.names]
    if not names:
        raise VerosimError(
            "The two models have no columns that can be compared.",
            "Fit both models with the same schema, or compare a model with rows.",
        )
    nats, index, by_chance = (
        np.concatenate([getattr(one, field) for one in found])
        for field in ("nats", "index", "by_chance")
    )
    order = np.argsort(-index, kind="stable")
    classes, weight = _class_weights(state, second)  # (2, C)
    inside = np.sum([one.class_nats for one in found], axis=0)
    p, q = smoothed_shares(weight)
    return Drift(
        tuple(names[j] for j in order), nats[order], index[order], by_chance[order], classes,
        weight / weight.sum(axis=1, keepdims=True),
        np.where((weight > 0).all(axis=0), inside, np.nan),
        float(((q - p) * np.log(q / p)).sum()), (float(weight[0].sum()), float(weight[1].sum())),
        tuple(_not_compared(state, names)),
        {name: some for one in found for name, some in one.tokens.items()},
    )  # fmt: skip


def _check_same_target(state: State, other: State) -> None:
    targets = [one.schema.target for one in (state, other) if one.schema is not None]
    if len({target for target in targets if target is not None}) > 1:
        raise VerosimError(
            f"The target is {targets[0]!r} in this model and {targets[1]!r} in the other model.",
            "Compare models with the same target.",
        )


def _class_weights(state: State, other: State) -> tuple[np.ndarray, np.ndarray]:
    """The classes of both sets of rows, and their weights (2, C)."""
    mine, theirs = (one.statistic.axes.groups for one in (state, other))
    both = mine.union(theirs)
    weight = np.zeros((2, len(both.classes)))
    for at, (groups, one) in enumerate(((mine, state), (theirs, other))):
        weight[at, both_places(groups, both)] = one.statistic.weight.sum(axis=1)
    return both.classes, weight


def _not_compared(state: State, names: list[str]) -> list[str]:
    """The columns of the table that were not compared."""
    if state.schema is None:
        return []
    known = dict.fromkeys(names)
    return [
        column.name for column in state.schema.used
        if column.name not in known and not any(n.startswith(f"{column.name} ") for n in known)
    ]  # fmt: skip
