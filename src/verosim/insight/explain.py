"""Explanations of decisions: what each column adds to the log-odds of two classes.

    log p(k | x) / p(l | x) = log π_k/π_l + Σ_j (φ_jk(x) − φ_jl(x))

φ_jk is the Shapley value of column j in the game v(S) = log p(x_S | k), in which the columns
outside S are marginalised. References: Shapley (1953), A value for n-person games; Štrumbelj &
Kononenko (2014), Explaining prediction models and individual predictions with feature
contributions; Lundberg & Lee (2017), A unified approach to interpreting model predictions; Aas,
Jullum & Løland (2021), Explaining individual predictions when features are dependent.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim import engines
from verosim.arguments import checked, one_of, whole
from verosim.axes.groups import plain_label
from verosim.bayes.explain import ScoreParts, joined_parts
from verosim.data import Documents
from verosim.data.adapters import opened_as
from verosim.data.clusters import check_is_here
from verosim.data.readers import Reader
from verosim.data.source import RowSource
from verosim.data.tables import Rows
from verosim.densities.attribution import (
    CHAIN,
    DEFAULT_PERMUTATIONS,
    LINEAR,
    SAMPLED,
    SHAPLEY,
    AttributionRequest,
)
from verosim.densities.base import no_contributions
from verosim.errors import VerosimError, listed
from verosim.estimators.checks import empty_table
from verosim.insight.explanation import Explanation
from verosim.insight.shown_cells import ArrayCells, ShownCells, TableCells
from verosim.insight.single_row import fitted_classifier
from verosim.models.opening import with_marks

if TYPE_CHECKING:
    from verosim.estimators.base import ScoreMixin
    from verosim.typing import FileOptions, MissingMarks, Source

MOST_NUMBERS_EXPLAINED = 1 << 28  # numbers in the contributions of all rows: two gigabytes
ROWS_EXPLAINED_TOGETHER = 1 << 12


@checked
def explain(
    model: ScoreMixin,
    X: Source,
    *,
    of: Hashable | None = None,
    against: Hashable | None = None,
    kind: Literal["shapley", "chain", "linear"] | None = None,
    permutations: int = DEFAULT_PERMUTATIONS,
    random_state: int = 0,
    na: MissingMarks = (),
    read: FileOptions | None = None,
) -> Explanation:
    """Explain the decisions of a fitted model: what each column adds to the log-odds.

    For each row, the predicted class k is compared with the runner-up l. Their log-odds are a sum
    of the priors and of one part for each column:

        log p(k | x) / p(l | x) = log π_k/π_l + Σ_j (φ_jk(x) − φ_jl(x))

    φ_jk is the Shapley value of column j in the game v(S) = log p(x_S | k): the log density of the
    columns in S, with all other columns marginalised.

        φ_jk = Σ_{S ∌ j} |S|! (d − |S| − 1)! / d!  (v(S ∪ j) − v(S))

    Models differ in how it is computed:

    - Independent columns (naive Bayes): φ_jk = log p_j(x_j | k), exactly.
    - Gaussians with full covariances (`LDA`, `QDA`, `RDA`): exactly up to 12 columns. The value is
      a quadratic form of the row, and its matrix is computed once per model. With more columns,
      orders of the columns are sampled, and standard errors are given. The sum is always exact.
      With `encode`, all columns of the design matrix of one column of the table are one player.
    - `MDA` and `JointHistogram`: exactly, by all subsets of columns; `MDA` with more than 8
      columns by sampled orders.
    - `TAN`, `KDB` and `AODE`: kind "chain", the term log p(x_j | k, parents of j). These are not
      Shapley values. `AODE` weights the parents by their share in the sum, and the rest is a line
      of its own.
    - `Pool`: the parts of the experts times their weights and temperatures. Clipping, and experts
      without parts such as `LiftedLDA`, are lines of their own. `experts` has the exact part of
      each expert.
    - `Calibrated`: a temperature multiplies all parts and the prior. Weights of columns multiply
      the clipped part of each column. Offsets join the prior. Isotonic maps have no parts.
    - Linear classifiers and twins: w_kj (x_j − mean of column j in the training rows).

    A missing value has the part 0 where it is marginalised, and its own part where the model
    counts missing values.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.
    X : array-like of shape (n, d) or table
        The rows to explain, in any form that `predict` accepts.
    of : str, int, bool or None, default=None
        The class to explain. None explains the predicted class of each row.
    against : str, int, bool or None, default=None
        The class to compare with. None compares with the most probable other class.
    kind : {"shapley", "chain", "linear"} or None, default=None
        The kind of parts. None uses the kind of the model. "linear" gives the coefficients of a
        linear model times the deviation from the mean. "shapley" and "chain" raise an error if the
        model has parts of another kind.
    permutations : int, default=64
        The number of orders of the columns, if they are sampled. Half of them are the reverses of
        the others.
    random_state : int, default=0
        The seed of the sampled orders.
    na : iterable of str, default=()
        Texts that mean "missing" in this table, in addition to those of the fit.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
        `verosim.read`. None means that the files are examined.

    Returns
    -------
    Explanation
        The parts of all rows. It prints one sentence per row.

    Raises
    ------
    VerosimError
        If a class is not known, if the model is not a fitted classifier of verosim, or if its
        scores are not a sum over columns.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games 2, 307–317.
    Štrumbelj & Kononenko (2014), Explaining prediction models and individual predictions with
    feature contributions, Knowledge and Information Systems 41, 647–665.
    Lundberg & Lee (2017), A unified approach to interpreting model predictions, NIPS 30.
    Aas, Jullum & Løland (2021), Explaining individual predictions when features are dependent,
    Artificial Intelligence 298, 103502.

    Examples
    --------
    >>> import verosim
    >>> table = {"rooms": [1, 2, 5, 6], "hue": ["red", "red", "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes({"rooms": "poisson"}).fit(table, "kind")
    >>> verosim.explain(model, {"rooms": [5, 3], "hue": ["blue", None]})
    0.92 b: prior +0.00, rooms 5 +1.35, hue 'blue' +1.10
    0.56 a: prior +0.00, rooms 3 +0.26, hue missing +0.00
    """
    check_is_here(X, "The function explain")
    model = fitted_classifier(model, "explain")
    if kind is not None:
        one_of("kind", kind, (SHAPLEY, CHAIN, LINEAR))
    whole("permutations", permutations, least=2)
    if not model.scores_columns:
        raise no_contributions(f"{type(model).__name__} with features=…")
    rule, rows = model.opened_to_score(with_marks(opened_as(X, read), na))
    pair = _Pair.asked(model.classes_, of, against)
    named = _Named.of(rule, rows)
    request = AttributionRequest(
        named.owner, None, int(permutations), int(random_state), kind == LINEAR, named.inside
    )
    found = _pieces(rule, rows, pair, request)
    parts = joined_parts([one.parts for one in found])
    _check_kind(kind, parts.kind, model)
    cells = named.cells(rows, [one.rows for one in found])
    return Explanation(
        model.classes_,
        named.players,
        named.columns,
        parts,
        np.concatenate([one.log_posterior for one in found]),
        np.concatenate([one.pair for one in found]),
        cells,
        bool(model.gives_probabilities),
    )


def _check_kind(asked: str | None, found: str, model: Any) -> None:
    """Check that the parts are of the kind that was asked for."""
    same = (SHAPLEY, SAMPLED) if asked == SHAPLEY else (asked,)
    if asked is not None and found not in same:
        raise VerosimError(
            f"The contributions of {type(model).__name__} are of the kind {found!r}; got "
            f"kind={asked!r}.",
            "Leave kind out.",
        )


# Classes -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pair:
    """The numbers of the two classes that are compared; −1 if the posteriors decide."""

    first: int
    second: int

    @classmethod
    def asked(cls, classes: np.ndarray, of: Any, against: Any) -> _Pair:
        """The classes with these labels."""
        if len(classes) < 2:
            raise VerosimError(
                "An explanation compares two classes, and the model has only the class "
                f"{plain_label(classes[0])!r}.",
                "Fit the model on rows of at least two classes.",
            )
        first, second = (class_number(label, classes) for label in (of, against))
        if first == second >= 0:
            raise VerosimError(
                f"A class cannot be compared with itself; got of={of!r} and against={against!r}.",
                "Use two different classes.",
            )
        return cls(first, second)

    def of_rows(self, log_p: np.ndarray) -> np.ndarray:
        """(n, 2) the two classes of each row, from the log posteriors (n, C)."""
        n = len(log_p)
        given = np.full(n, self.second)
        first = np.full(n, self.first)
        if self.first < 0:
            first = _best_class(log_p, given if self.second >= 0 else None)
        return np.stack([first, given if self.second >= 0 else _best_class(log_p, first)], axis=1)


def _best_class(log_p: np.ndarray, other_than: np.ndarray | None) -> np.ndarray:
    """(n,) the most probable class, without the classes (n,)."""
    scores = np.maximum(log_p, np.finfo(np.float64).min)  # a class of probability 0 is possible
    if other_than is not None:
        scores[np.arange(len(scores)), other_than] = -np.inf
    return scores.argmax(axis=1)


def class_number(label: Any, classes: np.ndarray) -> int:
    """The number of a class, or −1 if none was given."""
    if label is None:
        return -1
    known = classes.tolist()
    plain = plain_label(label)
    if plain not in known:
        raise VerosimError(
            f"The class {plain!r} is not a class of the model.",
            f"Use one of {listed(known)}.",
        )
    return known.index(plain)


# Rows and columns --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Named:
    """The players of an explanation, and the columns of the table that they belong to."""

    players: tuple[str, ...]  # (p,)
    columns: tuple[str, ...]  # (p,)
    owner: np.ndarray | None  # (D,) the player of each column of the block
    inside: dict[str, np.ndarray]  # the same for each way of reading of a pool
    reader: Reader | None

    @classmethod
    def of(cls, rule: Any, rows: Any) -> _Named:
        """The players of the columns that a reader reads, or of an array."""
        reader = rows.reader
        if reader is None:
            names = ("text",) if isinstance(rows.X, Documents) else tuple(rule.columns)
            return cls(names, names, None, {}, None)
        names, owners = tuple(dict.fromkeys(reader.players)), dict[str, str]()
        for name, column in zip(reader.players, reader.owners, strict=False):
            owners.setdefault(name, column)
        number = {name: j for j, name in enumerate(names)}
        inside = {
            reading: np.array([number[name] for name in one], dtype=np.intp)
            for reading, one in reader.players_inside.items()
        }
        owner = np.array([number[name] for name in reader.players], dtype=np.intp)
        return cls(names, tuple(owners[name] for name in names), owner, inside, reader)

    def cells(self, rows: Any, pieces: Sequence[Rows | None]) -> ShownCells:
        """The cells of the rows, for printing."""
        if self.reader is None:
            return ArrayCells(rows.X, np.arange(len(rows)))
        some = [piece for piece in pieces if piece is not None]
        first = np.concatenate([[0], np.cumsum([piece.batch.num_rows for piece in some])])
        at = np.arange(int(first[-1]))
        return TableCells(some, first, self.reader, self.players, self.columns, at)


@dataclass(frozen=True, eq=False)
class _Piece:
    """The explanation of some rows."""

    log_posterior: np.ndarray  # (n, C)
    pair: np.ndarray  # (n, 2)
    parts: ScoreParts
    rows: Rows | None = None  # the cells, if they come from a table


def _piece(
    rule: Any, block: Any, pair: _Pair, request: AttributionRequest, rows: Rows | None = None
) -> _Piece:
    log_p = rule.log_posterior(block)
    two = pair.of_rows(log_p)
    parts = rule.attributed(block, replace(request, pair=two))
    return _Piece(log_p, two, parts, rows)


def _check_size(numbers: int) -> None:
    """Raise an error if the contributions do not fit into memory."""
    if numbers > MOST_NUMBERS_EXPLAINED:
        raise VerosimError(
            "The contributions of all columns to all rows do not fit in memory.",
            "Explain fewer rows at a time.",
        )


def _pieces(rule: Any, source: RowSource, pair: _Pair, request: AttributionRequest) -> list[_Piece]:
    """The explanations of all rows, some rows at a time."""
    cells = source.reader is not None

    def work(chunk: Any) -> _Piece:
        return _piece(rule, chunk.block(), pair, request, chunk.rows if cells else None)

    found, size = [], 0
    for piece in engines.map(source, work, rows=ROWS_EXPLAINED_TOGETHER):
        size += piece.parts.parts.size
        _check_size(size)
        found.append(piece)
    if not found:
        raise empty_table()
    return found
