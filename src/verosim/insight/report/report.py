"""The report of a model: one page for the browser, which needs no network."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.arguments import checked, whole
from verosim.data.clusters import check_is_here
from verosim.errors import VerosimError, writing
from verosim.insight.importance import importance
from verosim.insight.report.about import column_lines, facts_about
from verosim.insight.report.carried import WHOLE, Carried, bytes_of
from verosim.insight.report.compared import simulated_charts
from verosim.insight.report.densities import densities_of, few_digits
from verosim.insight.report.diagnosis import ShownDiagnosis, diagnosis_of
from verosim.insight.report.disagreement import disagreement, rounding_effect
from verosim.insight.report.nomogram import (
    carried_by,
    lines_of,
    shown_classes,
    spread_order,
    telling_columns,
)
from verosim.insight.report.observed import MOST_OBSERVED_ROWS, ObservedRows
from verosim.insight.report.page import catalogue, filled, rendered
from verosim.insight.report.quality import Quality, quality_of
from verosim.insight.report.rare_values import (
    NamedValues,
    Unnamed,
    counts_occurrences,
    rows_with_tokens,
)
from verosim.insight.report.shown_numbers import LEAST_ROWS
from verosim.insight.report.shown_rows import row_lists
from verosim.insight.report.some_rows import (
    SomeRows,
    complete_rows,
    has_covariance,
    innermost,
    labelled_rows,
    state_of,
)
from verosim.insight.single_row import fitted_classifier
from verosim.whole_files import whole_file

if TYPE_CHECKING:
    from verosim.estimators.base import ScoreMixin
    from verosim.typing import Labels, Source

EXPLAINED_ROWS = 2000
EXPLAINED_CELLS = 100_000  # a wide model explains fewer rows
MANY_COLUMNS = 50  # with more, only rows without missing cells are explained
FEWEST_EXPLAINED = 50  # rows
OPEN_CHARTS = 30
MOST_BOUNDARY_CLASSES = 64


@checked
def report(
    model: ScoreMixin,
    source: Source | None = None,
    y: Labels | None = None,
    *,
    path: str | os.PathLike[str] = "report.html",
    rows: int = 0,
    budget: str | float = "3MB",
    language: Literal["en", "es"] = "en",
    title: str | None = None,
) -> Path:
    """Write a report of a model: one HTML file that opens anywhere without a network.

    With rows, the report has the scores of held-out rows with intervals, the confusion matrix, the
    calibration, the columns that separate the classes, the density of each column in each class,
    the diagnosis, the boundaries of the classes and simulated against real rows. Without rows, it
    has everything that follows from the sums of the model. In both cases the page runs the model:
    an interactive nomogram gives

        p(k | x) = exp δ_k(x) / Σ_j exp δ_j(x)

    for the values that the reader moves or types, with δ_k(x) the score of class k.

    The page states at its top whether it contains rows of the data. With `rows=0` it contains none.
    Outside of the rows that are asked for, no value of fewer than 5 rows is shown: categories and
    tokens are not named, and edges of bins, quantiles and limits of axes are rounded.

    Parameters
    ----------
    model : classifier of verosim
        A fitted classifier.
    source : array-like of shape (n, d), table or None, default=None
        Rows with labels, best the training rows. None makes a report of the sums alone.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column. None uses the target column of the fit.
    path : str or path, default="report.html"
        The file to write.
    rows : int, default=0
        How many typical, strange and wrongly classified rows to show, of each. 0 shows none.
    budget : str or float, default="3MB"
        The largest size of the file, such as "500kB", or a number of bytes. If the program of the
        model is larger, the nomogram runs a smaller one, with a note in the page.
    language : {"en", "es"}, default="en"
        The language of the page.
    title : str or None, default=None
        The title of the page. None uses the name of the model.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    VerosimError
        If the model is not a fitted classifier of verosim, or if a setting is not allowed.

    References
    ----------
    Mitchell et al. (2019), Model cards for model reporting, FAccT, 220–229.

    Examples
    --------
    >>> import tempfile, verosim
    >>> table = {"size": [1.0, 1.2, 3.1, 2.9] * 5, "hue": ["red", "red", "blue", "red"] * 5,
    ...          "kind": ["a", "a", "b", "b"] * 5}
    >>> model = verosim.NaiveBayes().fit(table, "kind")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = verosim.report(model, table, path=f"{folder}/report.html")
    ...     "<title>NaiveBayes</title>" in file.read_text(encoding="utf-8")
    True
    """
    check_is_here(source, "The function report")
    fitted = fitted_classifier(model, "report")
    whole("rows", rows, least=0)
    words, size = catalogue(language), bytes_of(budget)
    if rows and source is None:
        raise VerosimError(
            f"rows={rows} needs a source of rows.", "Use report(model, source, rows=5)."
        )
    some = None if source is None else labelled_rows(fitted, source, y)
    found = _Content.of(fitted, some, rows, size, words)
    html = found.page(language, title or type(model).__name__, words)
    while len(html.encode()) > size and found.shrink():
        html = found.page(language, title or type(model).__name__, words)
    out = Path(path)
    with writing(out), whole_file(out) as file:
        file.write(html.encode())
    return out


@dataclass
class _Content:
    """All numbers of a report."""

    facts: dict[str, Any]
    classes: list[str]
    columns: list[dict[str, Any]]
    carried: Carried | None
    why_not: str  # why there is no nomogram
    lines: dict[str, Any]  # of the nomogram: what smaller and rounded programs change
    importance: dict[str, Any] | None
    densities: list[dict[str, Any]]
    quality: Quality | None
    diagnosis: ShownDiagnosis
    simulated: list[dict[str, Any]]
    rows: dict[str, list[dict[str, Any]]]
    used_rows: int  # rows of the source; 0 without a source
    shown: int  # the argument `rows`
    boundary: list[str] = field(default_factory=list)
    by_occurrence: bool = False  # tokens are named by their occurrences, not by rows

    @classmethod
    def of(
        cls, model: Any, some: SomeRows | None, rows: int, budget: int, words: dict[str, str]
    ) -> _Content:
        program, why_not = _program_of(model)
        named = NamedValues.of(state_of(model))
        few = None if some is None else _spread(some, MOST_OBSERVED_ROWS)
        observed = None
        if few is not None and program is not None:
            observed = ObservedRows.of(model, program, few)
            known, tokens = named.rows, rows_with_tokens(program, observed.cells)
            named = replace(
                named, rows=_fewest(known, observed.frequent), tokens=tokens or named.tokens
            )
        ranked = _importance(model, few)
        order = [name for name, _ in ranked["bars"]] if ranked else telling_columns(model)
        if program is not None:
            order = spread_order(program, order)
        carried = None
        if program is not None:
            carried = carried_by(model, budget, named, order)
        changed = None
        if carried is not None and carried.kind != WHOLE and some is not None:
            changed = disagreement(model, some.X, some.y, carried)
        effect = None
        if carried is not None and carried.rounded:
            effect = rounding_effect(model, carried, observed)
        quality = None if some is None else _quality(model, some)
        facts = facts_about(model, 0 if program is None else len(program.inputs))
        charts = densities_of(model, named, observed)
        rank = {name: i for i, name in enumerate(order)}
        charts.sort(key=lambda one: rank.get(one["column"], len(rank)))
        simulated = []
        if observed is not None and program is not None:
            simulated = simulated_charts(model, program, observed, order, named)
        return cls(
            facts=facts, classes=shown_classes(model),
            columns=column_lines(model, program, observed), carried=carried, why_not=why_not,
            lines={"changed": changed, "effect": effect}, importance=ranked,
            densities=charts, quality=quality,
            diagnosis=diagnosis_of(model, few, _hidden_names(program, named), some),
            simulated=simulated,
            rows=(
                row_lists(model, some, quality, order, rows, words)
                if rows and some is not None
                else {}
            ),
            used_rows=0 if some is None else len(some), shown=rows,
            boundary=_plane(carried),
            by_occurrence=some is None and counts_occurrences(state_of(model)),
        )  # fmt: skip

    def shrink(self) -> bool:
        """Leave a part of the folded charts out; whether there was one."""
        if len(self.densities) > OPEN_CHARTS:
            self.densities = self.densities[: max(OPEN_CHARTS, len(self.densities) // 2)]
        elif self.simulated:
            self.simulated = []
        elif len(self.densities) > 1:
            self.densities = self.densities[: len(self.densities) // 2]
        else:
            return False
        return True

    def page(self, language: str, title: str, words: dict[str, str]) -> str:
        """The HTML of the page."""
        self._name_text(words["text"])
        data: dict[str, Any] = {
            "classes": self.classes, "densities": self.densities, "simulated": self.simulated,
            "openCharts": OPEN_CHARTS,
        }  # fmt: skip
        if self.carried is not None:
            data |= self.carried.page_data(self.classes)
        if self.importance is not None:
            data["importance"] = self.importance
        if self.boundary:
            data["boundary"] = self.boundary
        if self.quality is not None:
            data["confusion"] = self.quality.confusion.round(3).tolist()
            curve = self.quality.reliability
            if curve is not None:
                at = curve.weight >= LEAST_ROWS
                data["calibration"] = {
                    "confidence": few_digits(curve.confidence[at]),
                    "accuracy": few_digits(curve.accuracy[at]),
                    "weight": few_digits(curve.weight[at] / max(float(curve.weight.sum()), 1e-300)),
                }
        program_lines = (
            [] if self.carried is None else lines_of(self.carried, **self.lines, words=words)
        )
        return rendered(
            "report.html", language, data, title=title, facts=self.facts, columns=self.columns,
            quality=self.quality, findings=self.diagnosis.lines(words),
            diagnosis_note=self.diagnosis.words(words),
            notice=self.notice(words), lines=program_lines, has_program=self.carried is not None,
            why_not=self._why_not(language, words), rows=self.rows, charts=data,
            used_rows=self.used_rows, open_columns=OPEN_CHARTS,
            simulated=self.simulated, importance=self.importance,
        )  # fmt: skip

    def _why_not(self, language: str, words: dict[str, str]) -> str:
        """Why there is no nomogram. Messages of errors are in English only."""
        if not self.why_not:
            return words["over budget"]
        return self.why_not if language == "en" else words["no program"]

    def _name_text(self, name: str) -> None:
        """Give the only column of a model of texts a name: it has none of its own."""
        if len(self.columns) == 1 and self.columns[0]["role"] == "text":
            for one in (*self.columns, *self.densities):
                one.update({key: name for key in ("name", "column") if key in one})
            if self.importance is not None:
                self.importance["bars"] = [(name, value) for _, value in self.importance["bars"]]

    def notice(self, words: dict[str, str]) -> str:
        """Whether the page contains rows of the data."""
        if self.shown:
            count = sum(len(some) for some in self.rows.values())
            return filled(words["has rows"], count=f"{count:,}", least=LEAST_ROWS)
        name = "has no rows, tokens by sums" if self.by_occurrence else "has no rows"
        return filled(words[name], least=LEAST_ROWS)


# The parts ---------------------------------------------------------------------------------------


def _program_of(model: Any) -> tuple[Any, str]:
    """The program of a model, or None and the reason."""
    try:
        return model.program(), ""
    except (AttributeError, VerosimError) as error:
        return None, getattr(error, "what", str(error))


def _spread(some: SomeRows, most: int) -> SomeRows:
    """At most so many rows, at equal steps."""
    if len(some) <= most:
        return some
    return some.take(np.linspace(0, len(some) - 1, most).astype(np.int64))


def _fewest(sums: Any, seen: dict[str, dict[Any, float]]) -> dict[str, dict[Any, float]]:
    """The rows of each value in the sums, or in the rows where the sums do not show it."""
    out = {name: dict(known) for name, known in sums.items()}
    for name, counts in seen.items():
        mine = out.setdefault(name, {})
        for value, count in counts.items():
            mine.setdefault(value, count)
    return out


def _quality(model: Any, some: SomeRows) -> Quality | None:
    try:
        return quality_of(model, some)
    except (VerosimError, ValueError):
        return None


def _explained(model: Any, some: SomeRows) -> SomeRows | None:
    """Rows for the mean contributions; None if explaining enough of them would take minutes.

    A full covariance needs one factor of all columns for each pattern of missing cells.
    """
    columns = int(getattr(innermost(model), "n_features_in_", 1))
    if columns > MANY_COLUMNS and has_covariance(model):
        known = complete_rows(some)
        if len(known) < min(FEWEST_EXPLAINED, len(some)):
            return None
        some = some if len(known) == len(some) else some.take(known)
    most = min(EXPLAINED_ROWS, EXPLAINED_CELLS // max(columns, 1))
    return _spread(some, max(most, FEWEST_EXPLAINED))


def _importance(model: Any, some: SomeRows | None) -> dict[str, Any] | None:
    """The columns with their importance, the largest first."""
    found = None
    if some is not None:
        try:
            few = _explained(model, some)
            found = None if few is None else importance(model, few.X)
        except VerosimError:
            found = None
    if found is None:
        try:
            found = importance(model)
        except VerosimError:
            return None
    values = np.nan_to_num(found.values, nan=0.0)
    owners: dict[str, float] = {}
    for name, value in zip(found.columns, values.tolist(), strict=True):
        owners[name] = owners.get(name, 0.0) + value
    order = sorted(owners, key=lambda name: -owners[name])
    return {"kind": found.kind, "bars": [(name, float(f"{owners[name]:.6g}")) for name in order]}


def _hidden_names(program: Any, named: NamedValues) -> set[str]:
    """The values and tokens that the page must not name."""
    unnamed = Unnamed(named)
    if program is not None:
        unnamed.program(program)
    for known in (*named.rows.values(), named.tokens):
        unnamed.names |= {str(value) for value, n in known.items() if n < named.least}
    return unnamed.names


def _plane(carried: Carried | None) -> list[str]:
    """The two most telling columns of numbers, for the boundaries."""
    if carried is None or len(carried.program.classes) > MOST_BOUNDARY_CLASSES:
        return []
    names = [one["column"] for one in carried.controls if one["type"] == "number"]
    return names[:2] if len(names) > 1 else []
