"""A finding is a number and a sentence that explains it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

from verosim.arguments import checked
from verosim.errors import VerosimError
from verosim.html_table import html_table
from verosim.lazy import plotted
from verosim.terminal import in_lines, in_one_line, table_lines
from verosim.validate.diagnosis.phrases import Phrase, said

if TYPE_CHECKING:
    from verosim.drawing import PlotAxes

LEVEL = 0.05  # significance of every test
ALL_CLASSES, ALL_COLUMNS = said("all classes"), said("all columns")
SHOWN = 5  # printed findings of one name; `diagnosis[name]` has all of them
READING_WIDTH = 64  # characters of a reading in one line


@dataclass(frozen=True)
class Finding:
    """One finding of :func:`diagnose`: a number and a sentence that explains it.

    Attributes
    ----------
    name : str
        The name of the check, such as "Box's M" or "kurtosis".
    subject : str
        The class, the column or the part of the model that the finding is about.
    value : float or None
        The number. None if the check needs rows that were not given, or does not apply; `reading`
        gives the reason.
    p_value : float or None
        The p-value of the test. None for a finding without a test.
    reading : str
        The result in words, and advice.
    phrases : tuple of Phrase
        The sentences of `reading` as patterns with values, for translations. Empty if `value` is
        None.
    about : Phrase or None
        The pattern of `subject`. None if the subject is the name of a class or of a column.

    References
    ----------
    Mardia, Kent & Bibby (1979), Multivariate Analysis, chapters 5, 11 and 12.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, diagnose
    >>> found = diagnose(LDA().fit(*load_iris(return_X_y=True)))["class size"][0]
    >>> found.name, found.subject, found.value
    ('class size', 'all classes', 36.75)
    >>> found.reading
    'The shared covariance of 4 columns is estimated from 147 rows. This is enough.'
    """

    name: str
    subject: str
    value: float | None
    p_value: float | None
    reading: str
    phrases: tuple[Phrase, ...] = field(default=(), repr=False, compare=False)
    about: Phrase | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, repr=False)
class Diagnosis(Sequence[Finding]):
    """The findings about a fitted model, the result of :func:`diagnose`.

    It is a sequence of :class:`Finding`. An integer gives one finding. A name, such as
    `diagnosis["kurtosis"]`, or a slice gives a `Diagnosis` with some of the findings. It prints as
    a table with at most five findings of each name.

    Attributes
    ----------
    title : str
        The name of the model, and its numbers of rows and classes.
    findings : tuple of Finding
        The findings.
    names : tuple of str
        The names of the findings, each once.

    References
    ----------
    Mardia, Kent & Bibby (1979), Multivariate Analysis, chapters 5, 11 and 12.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, diagnose
    >>> found = diagnose(LDA().fit(*load_iris(return_X_y=True)))
    >>> found.title, len(found["information"])
    ('LDA: 150 rows, 3 classes', 1)
    >>> found["prior error"][0].subject
    'all classes'
    """

    title: str
    findings: tuple[Finding, ...]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the findings, each once."""
        return tuple(dict.fromkeys(found.name for found in self.findings))

    @overload
    def __getitem__(self, at: int) -> Finding: ...

    @overload
    def __getitem__(self, at: slice | str) -> Diagnosis: ...

    def __getitem__(self, at: int | slice | str) -> Finding | Diagnosis:
        if isinstance(at, slice):
            return Diagnosis(self.title, self.findings[at])
        if not isinstance(at, str):
            return self.findings[at]
        found = tuple(one for one in self.findings if one.name == at)
        if not found:
            raise VerosimError(
                f"The diagnosis has no finding {at!r}.", f"Use one of {', '.join(self.names)}."
            )
        return Diagnosis(self.title, found)

    def __str__(self) -> str:
        shown: list[tuple[str, ...]] = []
        for name in self.names:
            these = self[name]
            shown += [_cells(one) for one in these[:SHOWN]]
            if len(these) > SHOWN:
                more = f"{len(these) - SHOWN} more"
                shown.append(("", more, "", "", f"diagnosis[{name!r}] shows all of them."))
        head = ("finding", "subject", "value", "p")
        rows: list[tuple[str, ...]] = [(*head, "reading")]
        for row in shown:
            first, *others = textwrap.wrap(in_one_line(row[4]), READING_WIDTH) or [""]
            rows += [(*row[:4], first), *(("",) * 4 + (text,) for text in others)]
        return in_lines([self.title, *table_lines(rows, (2, 3))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = ("finding", "subject", "value", "p", "reading")
        return html_table(self.title, head, [_cells(one) for one in self.findings], (), (2, 3))

    @checked
    def plot(self, ax: PlotAxes | None = None) -> PlotAxes:
        """Draw the findings that have a p-value, the smallest p-value first.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the picture.
        """
        drawn: PlotAxes = plotted("plot_diagnosis", self, ax=ax)
        return drawn


def _cells(found: Finding) -> tuple[str, ...]:
    """The cells of a finding as texts."""
    value = "" if found.value is None else f"{found.value:.4g}"
    return found.name, found.subject, value, probability(found.p_value, ""), found.reading


def probability(p: float | None, sign: str = "= ") -> str:
    """A p-value as text: '= 0.034' or '< 0.001'."""
    if p is None:
        return ""
    return f"{'< ' if sign else '<'}0.001" if p < 0.001 else f"{sign}{p:.3f}"


def found_that(
    name: str, subject: str | Phrase, value: float, p: float | None, *phrases: Phrase
) -> Finding:
    """A finding with a value; its reading is the phrases one after another."""
    about = subject if isinstance(subject, Phrase) else None
    shown = subject.text() if isinstance(subject, Phrase) else subject
    reading = " ".join(one.text() for one in phrases)
    return Finding(name, shown, value, p, reading, phrases, about)


def first_few(items: Sequence[str], most: int = 3) -> Phrase:
    """The first items in words: 'a, b, c and 5 more'."""
    shown = ", ".join(items[:most])
    if len(items) <= most:
        return said("{items}", items=shown)
    return said("{items} and {count} more", items=shown, count=str(len(items) - most))


def needs_rows(name: str, what: str, given: bool) -> Finding:
    """A finding without a value, because it needs rows; `what` completes "to …"."""
    if given:
        return does_not_apply(name, "there are too many columns to analyse together")
    reading = f"Needs rows: use diagnose(model, X, y) to {what}."
    return Finding(name, "all classes", None, None, reading)


def does_not_apply(name: str, why: str) -> Finding:
    """A finding without a value, because the check does not apply to the model."""
    return Finding(name, "all classes", None, None, f"Does not apply: {why}.")
