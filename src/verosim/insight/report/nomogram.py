"""The interactive nomogram: a page that evaluates a model for values that are moved or typed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import checked, one_of
from verosim.axes.groups import label_text
from verosim.bayes.program import Program
from verosim.data.nodes import no_program
from verosim.errors import VerosimError, writing
from verosim.insight.importance import importance
from verosim.insight.report.carried import (
    SHARE_OF_BUDGET,
    WHOLE,
    Carried,
    Shown,
    bytes_of,
    carried,
)
from verosim.insight.report.controls import ColumnRange, facts_of
from verosim.insight.report.disagreement import (
    Disagreement,
    RoundingEffect,
    disagreement,
    rounding_effect,
)
from verosim.insight.report.page import catalogue, filled, rendered
from verosim.insight.report.rare_values import EveryValue, NamedValues
from verosim.insight.report.shown_numbers import LEAST_ROWS
from verosim.insight.report.some_rows import state_of
from verosim.insight.single_row import fitted_classifier
from verosim.whole_files import whole_file

if TYPE_CHECKING:
    import os

    from verosim.estimators.base import ScoreMixin
    from verosim.typing import Labels, Source

COLUMNS_TOGETHER = 200  # columns that are tried in one evaluation
FRAME_HEIGHT = 640  # pixels in a notebook
SANDBOX = "allow-scripts allow-downloads allow-modals"


@checked
def nomogram(
    model: ScoreMixin,
    source: Source | None = None,
    y: Labels | None = None,
    *,
    budget: str | float = "3MB",
    names: Literal["all", "frequent"] = "all",
    language: Literal["en", "es"] = "en",
) -> Nomogram:
    """Make an interactive nomogram: a page that runs the model in the browser, without a network.

    Each column has a control: a slider and a field for a number, a list for a category, a box for
    a text. A value can be moved, typed, or set to unknown. The posteriors of all classes, the
    contribution of each column and log p(x) follow:

        p(k | x) = exp δ_k(x) / Σ_j exp δ_j(x)

    δ_k(x) is the score of class k from `model.program()`. The page evaluates the same program as
    Python, to nine digits. The values are kept in the address of the page, so a case can be
    bookmarked and shared.

    The label below the bars names their kind. Columns that are independent have their log density.
    Gaussians with full covariances have Shapley values up to 8 columns. All others have the
    contribution given the other columns: the change of the score if the value becomes unknown.

    If the program is larger than the budget, the page carries a smaller one: the best expert of a
    pool that fits, or the marginal program of the most telling columns or tokens. With rows, the
    page shows how often the two disagree on held-out rows.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier with a program.
    source : array-like of shape (n, d), table or None, default=None
        Rows with labels, such as the training rows. They are used only if the program is over the
        budget, and no row is written to the page.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column. None uses the target column of the fit.
    budget : str or float, default="3MB"
        The largest size of the page, such as "500kB", or a number of bytes.
    names : {"all", "frequent"}, default="all"
        "all" names every category and token that the model knows, and numbers have all their
        digits. "frequent" names only values of at least 5 rows, and the others have a hash in their
        place. Numbers that come from the values of fewer rows are then rounded.
    language : {"en", "es"}, default="en"
        The language of the page.

    Returns
    -------
    Nomogram
        The page. A notebook shows it in a frame, and `save` writes it to a file.

    Raises
    ------
    VerosimError
        If the model has no program, or if no part of it fits the budget.

    References
    ----------
    Možina, Demšar, Kattan & Zupan (2004), Nomograms for visualization of naive Bayesian classifier,
    PKDD, 337–348.

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.0, 1.2, 3.1, 2.9], "hue": ["red", "red", "blue", "red"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> page = verosim.nomogram(verosim.NaiveBayes().fit(table, "kind"))
    >>> page
    Nomogram of NaiveBayes: the whole model, 2 columns
    >>> page.program.inputs
    {'size': 'number', 'hue': 'category'}
    """
    fitted = fitted_classifier(model, "nomogram")
    one_of("names", names, ("all", "frequent"))
    words = catalogue(language)
    allowed = EveryValue() if names == "all" else NamedValues.of(state_of(fitted))
    size = bytes_of(budget)
    found = carried_by(fitted, size, allowed, telling_columns(fitted))
    if found is None:
        raise no_part_fits(size)
    changed = None
    if source is not None and found.kind != WHOLE:
        changed = disagreement(fitted, source, y, found)
    effect = rounding_effect(fitted, found, None) if found.rounded else None
    title = filled(words["nomogram title"], model=type(model).__name__)
    html = rendered(
        "nomogram.html", language, found.page_data(shown_classes(fitted)),
        title=title, lines=lines_of(found, changed, effect, words),
    )  # fmt: skip
    return Nomogram(type(model).__name__, html, found)


class Nomogram:
    """A page with an interactive nomogram: the result of `nomogram`.

    A notebook shows it in a frame of its own, which cannot reach the notebook.

    Attributes
    ----------
    html : str
        The page.
    program : Program
        The program that the page evaluates.

    References
    ----------
    Možina, Demšar, Kattan & Zupan (2004), Nomograms for visualization of naive Bayesian classifier,
    PKDD, 337–348.

    Examples
    --------
    >>> from verosim import GaussianNB, nomogram
    >>> page = nomogram(GaussianNB().fit([[1.0], [3.0], [5.0], [7.0]], ["a", "a", "b", "b"]))
    >>> page.html.startswith("<!doctype html>"), page.program.classes
    (True, ('a', 'b'))
    """

    def __init__(self, name: str, html: str, found: Carried) -> None:
        self._name, self._html, self._found = name, html, found

    @property
    def html(self) -> str:
        """The page."""
        return self._html

    @property
    def program(self) -> Program:
        """The program that the page evaluates."""
        return self._found.program

    @checked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path
            The file, such as "nomogram.html".
        """
        with writing(path), whole_file(path) as file:
            file.write(self.html.encode())

    def __repr__(self) -> str:
        found = self._found
        what = {
            WHOLE: "the whole model", "expert": f"the expert {found.expert}",
            "columns": f"{found.kept} of {found.total} columns",
            "tokens": f"{found.kept} of {found.total} tokens",
        }[found.kind]  # fmt: skip
        columns = len(self.program.inputs)
        return f"Nomogram of {self._name}: {what}, {columns} column{'s' * (columns != 1)}"

    def _repr_html_(self) -> str:
        page = escape(self.html, quote=True)
        return (
            f'<iframe title="{escape(repr(self), quote=True)}" sandbox="{SANDBOX}" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:0" srcdoc="{page}"></iframe>'
        )


def carried_by(
    model: Any, budget: int, named: NamedValues, order: list[str] | None = None
) -> Carried | None:
    """The program of a fitted model that a page of this size carries."""
    if not hasattr(model, "program"):
        raise no_program(
            f"{type(model).__name__} combines the decisions of other models",
            "Use the model inside.",
        )
    program = model.program()
    ranked = spread_order(program, order if order is not None else telling_columns(model))
    is_pool = hasattr(model, "weights_") or hasattr(getattr(model, "model_", None), "weights_")
    state = state_of(model)
    schema = None if state is None else state.schema
    numbers = (
        frozenset(one.name for one in schema if one.whole) if schema is not None else frozenset()
    )
    shown = Shown(ranked, named, numbers)
    return carried(program, int(SHARE_OF_BUDGET * budget), shown, is_pool)


def telling_columns(model: Any) -> list[str]:
    """The columns by their information about the class, as far as the sums show it."""
    try:
        found = importance(model)
    except VerosimError:
        return []
    values = np.nan_to_num(found.values, nan=np.inf)
    return [found.columns[j] for j in np.argsort(-values, kind="stable")]


def spread_order(program: Program, known: list[str]) -> list[str]:
    """All columns: those with a known rank, then the others by how far they move the scores."""
    rest = [name for name in program.inputs if name not in set(known)]
    spread = dict.fromkeys(rest, 0.0)
    facts = facts_of(program)
    tried = {name: _tried(program.inputs[name], facts[name]) for name in rest}
    tried = {name: values for name, values in tried.items() if values}
    names = list(tried)
    for start in range(0, len(names), COLUMNS_TOGETHER):
        some = names[start : start + COLUMNS_TOGETHER]
        ends = np.cumsum([0, *(len(tried[name]) for name in some)])
        cells = {name: np.full(ends[-1], None, dtype=object) for name in some}
        for name, first, last in zip(some, ends, ends[1:], strict=False):
            cells[name][first:last] = tried[name]
        with np.errstate(all="ignore"):
            scores = program.evaluate(cells)
            centred = scores - scores.mean(axis=1, keepdims=True)
            centred = np.where(np.isfinite(centred), centred, 0.0)
        for name, first, last in zip(some, ends, ends[1:], strict=False):
            spread[name] = float(np.ptp(centred[first:last], axis=0).max())
    return [*known, *sorted(rest, key=lambda name: -spread[name])]


def _tried(type_: str, one: ColumnRange) -> list[Any]:
    """Some values of a column."""
    if type_ == "number" and one.lows:
        return np.linspace(min(one.lows), max(one.highs), 7).tolist()
    if type_ in ("category", "value"):
        return list(one.values)[:50]
    return [0.0, 1.0] if type_ == "boolean" else []


def shown_classes(model: Any) -> list[str]:
    """The labels of the classes as texts."""
    return [label_text(label) for label in model.classes_]


def no_part_fits(budget: int) -> VerosimError:
    """The error for a model without a part that fits."""
    return VerosimError(
        f"No part of the model fits into a page of {budget:,} bytes.",
        "Use a larger budget, such as budget='20MB'.",
    )


def lines_of(
    found: Carried,
    changed: Disagreement | None,
    effect: RoundingEffect | None,
    words: dict[str, str],
) -> list[str]:
    """What a page says about the program that it carries."""
    lines = [
        filled(
            words[f"carried {found.kind}"], expert=found.expert, kept=f"{found.kept:,}",
            total=f"{found.total:,}", left=f"{found.total - found.kept:,}",
        )
    ]  # fmt: skip
    if changed is not None:
        share = f"{100 * changed.share:.1f}"
        lines.append(filled(words["disagreement"], share=share, rows=f"{changed.rows:,}"))
    elif found.kind != WHOLE:
        lines.append(words["no disagreement"])
    if found.rounded:
        lines.append(filled(words["rounded"], least=LEAST_ROWS))
        lines.append(_effect_in_words(effect, words))
    unnamed = sum(found.hidden.values())
    if unnamed:
        lines.append(filled(words["values without names"], count=f"{unnamed:,}"))
    if found.hidden_tokens:
        lines.append(filled(words["tokens without names"], count=f"{found.hidden_tokens:,}"))
    return lines


def _effect_in_words(effect: RoundingEffect | None, words: dict[str, str]) -> str:
    """What the rounded numbers of a page change."""
    if effect is None:
        return words["rounding not known"]
    return filled(
        words["rounding drawn" if effect.drawn else "rounding"], rows=f"{effect.rows:,}",
        share=f"{100 * effect.share:.1f}", mean=f"{effect.mean:.2g}", most=f"{effect.most:.2g}",
    )  # fmt: skip
