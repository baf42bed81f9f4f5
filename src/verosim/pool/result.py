"""The result of `auto` and of a pool: a model, and a table of everything that was tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from verosim.arguments import checked
from verosim.estimators.base import GenerativeClassifier
from verosim.html_table import html_table
from verosim.lazy import plotted
from verosim.terminal import in_lines, table_lines

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes

LONGEST_NAME = 104  # letters of a model in a table


@dataclass(frozen=True)
class Candidate:
    """One line of the table of :func:`~verosim.auto`: a model and its score.

    The model is a pool, an expert of a pool or a textbook model. The score is the log-loss of
    held-out rows or the BIC, and a lower score is better:

        log-loss = − Σ w log p(y | x) / Σ w,   BIC = − 2 log p(x, y) + parameters · log n

    where w are the weights of the rows and n is their sum.

    Attributes
    ----------
    model : generative classifier
        The model with its settings, not fitted.
    score : float
        The log-loss of held-out rows, or the BIC. It is nan if the model was not tried.
    error : float
        The standard error of the log-loss: over the folds for textbook models, over the rows for a
        pool and its experts. It is nan for BIC.
    accuracy : float
        The accuracy on held-out rows. It is nan for BIC.
    why : str
        The reason why the model was not tried. It is empty if the model was tried.
    weight : float
        The weight of an expert in a pool. It is nan if the model is not an expert that was tried.
    seconds : float
        The time for counting the rows and predicting the held-out rows. It is nan if it was not
        measured.
    size : int
        The memory of the sums of an expert, in bytes. It is 0 if it was not measured.
    needs_all_rows : bool
        Whether the model needs all rows at once. A pool with such an expert cannot merge, and it
        cannot add or forget rows.
    log_density : tuple of float or None
        For a pool, the mean and the standard deviation of log p(x) of the held-out rows. It is None
        for other models, for a pool that is not a density of the columns, and if a row has the
        density 0. `cross_validate(…, log_density=True)` gives it for other models.
    name : str
        The `repr` of the model in one line.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36,
    111–147.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, auto
    >>> X, y = load_iris(return_X_y=True)
    >>> best = auto(X, y, models=[LDA(), QDA()]).table[0]
    >>> best.name, round(best.score, 3)
    ('LDA()', 0.053)
    """

    model: GenerativeClassifier
    score: float
    error: float
    accuracy: float
    why: str = ""
    weight: float = np.nan
    seconds: float = np.nan
    size: int = 0
    needs_all_rows: bool = False
    log_density: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """The `repr` of the model in one line."""
        return " ".join(repr(self.model).split())


@dataclass(frozen=True, eq=False)
class Candidates:
    """The table of everything that :func:`~verosim.auto` tried.

    For textbook models it has the candidates from the best to the worst. For a pool, the first row
    is the pool itself, and its experts follow from the largest weight to the smallest. Models that
    were not tried are last, with the reason. `len(table)` is the number of rows, `table[0]` is the
    first row, and `print(table)` shows all of them.

    Attributes
    ----------
    rows : list of Candidate
        The models with their scores.
    scoring : str
        What sorts the rows: "neg_log_loss", "accuracy" or "bic". A pool sorts its experts by weight
        if this is "neg_log_loss".
    complete : bool
        Whether the work was finished. It is False after an interrupt.
    not_read : dict
        The columns that no candidate reads, and the reason for each.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36,
    111–147.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, auto
    >>> X, y = load_iris(return_X_y=True)
    >>> auto(X, y, models=[LDA(), QDA()]).table
    model  log-loss ± se    accuracy
    LDA()  0.0530 ± 0.0246  0.9800
    QDA()  0.0589 ± 0.0260  0.9733
    """

    rows: list[Candidate]
    scoring: str
    complete: bool = True
    not_read: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Candidate:
        return self.rows[i]

    def __str__(self) -> str:
        tried = [row for row in self.rows if not row.why]
        untried: dict[str, dict[str, None]] = {}  # names of classes, by reason
        for row in self.rows:
            if row.why:
                untried.setdefault(row.why, {})[type(row.model).__name__] = None
        out = table_lines(zip(*self._columns(tried), strict=True))
        out += [f"not tried: {', '.join(kinds)}: {why}" for why, kinds in untried.items()]
        reasons: dict[str, list[str]] = {}  # names of columns, by reason
        for name, why in self.not_read.items():
            reasons.setdefault(why, []).append(repr(name))
        out += [f"not read: {', '.join(names)}: {why}" for why, names in reasons.items()]
        fixed = dict.fromkeys(
            type(row.model).__name__ for row in tried if row.needs_all_rows and row.weight > 0
        )
        if fixed:
            out.append(
                f"not sums: {', '.join(fixed)}: this pool cannot merge, add rows or forget rows"
            )
        if not self.complete:
            out.append("interrupted: only the models scored so far are compared")
        return in_lines(out)

    def _columns(self, rows: list[Candidate]) -> Iterator[list[str]]:
        """The columns of the printed table, with their titles."""
        yield ["model", *(_short_name(row) for row in rows)]
        if self.scoring == "bic":
            yield ["BIC", *(f"{row.score:.1f}" for row in rows)]
            return
        yield ["log-loss ± se", *(f"{row.score:.4f} ± {row.error:.4f}" for row in rows)]
        yield ["accuracy", *(f"{row.accuracy:.4f}" for row in rows)]
        if any(row.size for row in rows):
            yield ["weight", *("" if np.isnan(row.weight) else f"{row.weight:.2f}" for row in rows)]
            if not all(np.isnan(row.seconds) for row in rows):  # a loaded pool has no times
                yield ["seconds", *(f"{row.seconds:.2f}" for row in rows)]
            yield ["memory", *(_memory(row.size) for row in rows)]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tried = [row for row in self.rows if not row.why]
        head, *rows = zip(*self._columns(tried), strict=True)
        notes = str(self).splitlines()[1 + len(tried) :]
        return html_table("", head, rows, notes, range(1, len(head)))

    @checked
    def plot(self, ax: PlotAxes | None = None) -> PlotAxes:
        """Draw the score of each candidate.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        drawn: PlotAxes = plotted("plot_candidates", self, ax=ax)
        return drawn


def _short_name(row: Candidate) -> str:
    """The name of a candidate, without its settings if these are very long."""
    return row.name if len(row.name) <= LONGEST_NAME else f"{type(row.model).__name__}(…)"


def _memory(size: int) -> str:
    """A number of bytes, as kB or MB."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


class Choice(NamedTuple):
    """The result of :func:`~verosim.auto`: a fitted model and the table of all that was tried.

    It is a named tuple, so `model, table = auto(X, y)` works.

    Attributes
    ----------
    model : generative classifier
        The pool, or the textbook model with the best score, fitted on all rows.
    table : Candidates
        The pool and its experts, or all candidates, with their scores.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36,
    111–147.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, auto
    >>> X, y = load_iris(return_X_y=True)
    >>> choice = auto(X, y, models=[LDA(), QDA()])
    >>> choice.model, len(choice.table)
    (LDA(), 2)
    """

    model: GenerativeClassifier
    table: Candidates

    @checked
    def plot(self, ax: PlotAxes | None = None) -> PlotAxes:
        """Draw the score of each candidate.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        drawn: PlotAxes = plotted("plot_candidates", self.table, ax=ax)
        return drawn


@dataclass(frozen=True, eq=False)
class ExpertScores:
    """What each expert of a :class:`~verosim.Pool` adds to the scores of the classes.

    The log-odds of two classes are a sum, with one term for each expert:

        log p(k | x) / p(l | x) = b_k − b_l + Σ_e w_e (ℓ_e(k) − ℓ_e(l))

    Here b are the offsets of the classes, w_e is the weight of expert e, and ℓ_e are its tempered
    log posteriors. `len(scores)` is the number of experts, and `scores[name]` is the part of one
    expert. `Pool.expert_scores` returns this object.

    Attributes
    ----------
    names : tuple of str
        The names of the E experts.
    classes : ndarray of shape (C,)
        The class labels.
    offsets : ndarray of shape (C,)
        The offsets b_k. If the pool has other priors than the shares of the training rows, they
        include the difference of the logarithms. They are −∞ for a class without rows.
    parts : ndarray of shape (E, n, C)
        The parts w_e ℓ_e(k) of the experts, in the order of `names`.
    totals : ndarray of shape (n, C)
        The sum of the offsets and all parts. These are the log posteriors of the pool, up to a
        term that is the same for all classes.

    See Also
    --------
    Pool : A weighted combination of generative classifiers.

    References
    ----------
    Genest & Zidek (1986), Combining probability distributions: a critique and an annotated
    bibliography, Statistical Science 1, 114–135.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import AODE, LDA, Pool
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Pool([AODE(5), LDA(shrinkage=0.02, encode="onehot")]).fit(X, y)
    >>> scores = model.expert_scores(X[:2])
    >>> scores.parts.shape
    (2, 2, 3)
    >>> log_odds = scores.totals[:, 0] - scores.totals[:, 1]
    >>> log_p = model.predict_log_proba(X[:2])
    >>> abs(log_odds - (log_p[:, 0] - log_p[:, 1])).max() < 1e-12
    np.True_
    """

    names: tuple[str, ...]
    classes: np.ndarray  # (C,)
    offsets: np.ndarray  # (C,)
    parts: np.ndarray  # (E, n, C)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.parts[self.names.index(name)]

    @property
    def totals(self) -> np.ndarray:
        """(n, C) the sum of the offsets and all parts."""
        total: np.ndarray = self.offsets + self.parts.sum(axis=0)
        return total
