"""Scores of held-out rows that are kept with a model.

They belong to the rows of the fit, so they are kept together with the number of these rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

from verosim.errors import VerosimError
from verosim.terminal import in_one_line

if TYPE_CHECKING:
    from verosim.pool.result import Candidates, Choice
    from verosim.validate.cross_validation import CrossValidation


@dataclass(frozen=True)
class HeldOutScores:
    """Scores of held-out rows in a model file, a field of :class:`ModelInfo`.

    The scores are those of the rows that the model was fitted on, each predicted by a model without
    it. They are not computed again if rows are added to the model or forgotten. Compare `rows` with
    the rows of the model to see whether this has happened.

    Attributes
    ----------
    scores : dict of str to float
        The scores by name, such as "accuracy".
    rows : float
        The number of rows that were scored.
    log_density : tuple of float or None
        The mean and the standard deviation of log p(x) of the held-out rows, with which the rows of
        later times are compared. None if they were not computed.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36.

    Examples
    --------
    >>> from verosim.files import HeldOutScores
    >>> print(HeldOutScores({"accuracy": 0.98}, 150, (-2.5, 1.2)))
    accuracy 0.9800, mean log p(x) -2.5000 with deviation 1.2000, of 150 held-out rows
    """

    scores: dict[str, float]
    rows: float
    log_density: tuple[float, float] | None = None

    def __str__(self) -> str:
        parts = [f"{name} {value:.4f}" for name, value in self.scores.items()]
        if self.log_density is not None:
            mean, deviation = self.log_density
            parts.append(f"mean log p(x) {mean:.4f} with deviation {deviation:.4f}")
        return in_one_line(", ".join([*parts, f"of {self.rows:,.10g} held-out rows"]))


SavedScores: TypeAlias = (
    "HeldOutScores | CrossValidation | Choice | Candidates | Mapping[str, float]"
)


def held_out_scores(given: SavedScores, rows: float) -> HeldOutScores:
    """What a file keeps of some scores. `rows` is the number of rows of the model."""
    from verosim.pool.result import Candidates, Choice
    from verosim.validate.cross_validation import CrossValidation

    if isinstance(given, HeldOutScores):
        found = given
    elif isinstance(given, CrossValidation):
        means = {name: given.mean(name) for name in given.scores}
        found = HeldOutScores(means, float(given.rows), given.log_density)
    elif isinstance(given, Choice | Candidates):
        found = _of_table(given.table if isinstance(given, Choice) else given, rows)
    elif isinstance(given, Mapping) and all(map(_is_score, given.items())):
        found = HeldOutScores({name: float(value) for name, value in given.items()}, rows)
    else:
        raise VerosimError(
            "scores must be a result of cross_validate or auto, or a dict of names and numbers; "
            f"got {type(given).__name__}.",
            "Use scores=cross_validate(model, X, y).",
        )
    known = {name: value for name, value in found.scores.items() if math.isfinite(value)}
    return HeldOutScores(known, found.rows, found.log_density)


def _is_score(item: tuple[Any, Any]) -> bool:
    name, value = item
    return isinstance(name, str) and isinstance(value, Real) and not isinstance(value, bool)


def _of_table(table: Candidates, rows: float) -> HeldOutScores:
    from verosim.folds.scores import ACCURACY, LOG_LOSS

    best = table[0]
    scores = {ACCURACY: best.accuracy, LOG_LOSS: -best.score}
    if table.scoring == "bic":
        scores = {"bic": best.score}
    return HeldOutScores(scores, rows, best.log_density)
