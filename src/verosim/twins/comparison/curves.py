"""The result of a comparison: the score of each model at each size, on the same rows.

    mean(m) = Σ_r value(m, r) / R,   se(m) = sd_r value(m, r) / √R,   and the same for differences

The R repeats are random splits of the same rows. So the standard error describes the mean over such
splits, and not how results differ on other data sets.
Reference: Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from verosim.arguments import checked
from verosim.cached import cached_property
from verosim.data.frames_of_results import pandas_frame
from verosim.errors import VerosimError, listed, writing
from verosim.html_table import html_table
from verosim.lazy import plotted
from verosim.terminal import in_lines, table_lines
from verosim.twins.comparison.crossing import Crossing, crossing
from verosim.whole_files import whole_file

if TYPE_CHECKING:
    from verosim.data.frames_of_results import PandasFrame
    from verosim.drawing import PlotAxes

FORMAT = 1  # version of the file format


class Failure(NamedTuple):
    """One fit of a comparison that raised an error, in `fit` or in the scoring.

    :class:`Comparison` lists all failures. The value of a failed fit is nan, and it is not part of
    the means.

    Attributes
    ----------
    model : str
        The name of the model.
    size : int
        The number of training rows.
    repeat : int
        The number of the repeat, starting with 0.
    reason : str
        The type and the text of the error.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52, 239–281.

    Examples
    --------
    >>> from verosim.twins import Failure
    >>> failure = Failure("5-NN", 3, 0, "ValueError: Expected n_neighbors <= n_samples_fit")
    >>> failure.model, failure.size
    ('5-NN', 3)
    """

    model: str
    size: int
    repeat: int
    reason: str


@dataclass(frozen=True, eq=False)
class Difference:
    """The mean difference of two models at each size, paired by repeat.

        mean(m) = Σ_r (a(m, r) − b(m, r)) / R

    where a and b are the values of the two models with m training rows in repeat r, and R is the
    number of repeats with both values. Pairing removes the variation that both models share, so
    small differences become visible.

    Attributes
    ----------
    mean : ndarray of shape (S,)
        The mean difference at each of the S sizes.
    standard_error : ndarray of shape (S,)
        The standard error of the mean. It is nan with fewer than two repeats.
    repeats : ndarray of int, of shape (S,)
        The number of repeats with values of both models.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52, 239–281.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, LogisticRegression, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"LDA": LDA(), "logistic": LogisticRegression()}
    >>> found = compare(models, X, y, sizes=[30, 100], repeats=10)
    >>> found.difference("LDA", "logistic").mean.shape
    (2,)
    """

    mean: np.ndarray  # (S,)
    standard_error: np.ndarray  # (S,)
    repeats: np.ndarray  # (S,)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Learning curves of several models on the same rows, made by :func:`~verosim.compare`.

    The mean and its standard error at size m are

        mean(m) = Σ_r value(m, r) / R,   se(m) = sd_r value(m, r) / √R

    where value(m, r) is the score with m training rows in repeat r, and R is the number of repeats.
    Only complete repeats are used, in which every model was tried at every size. The value of a
    failed fit is nan, and the means leave it out.

    Attributes
    ----------
    models : dict of str to str
        The `repr` of each model, by its name.
    sizes : ndarray of int, of shape (S,)
        The numbers of training rows.
    values : ndarray of shape (M, S, R)
        The scores by model, size and repeat. A score is nan if the fit failed or was not tried.
    scoring : str
        The name of the score.
    lower_is_better : bool
        Whether a lower score is better.
    pairs : tuple of (str, str)
        The pairs of names (generative, discriminative) for `differences` and `crossings`.
    failures : tuple of Failure
        The fits that raised an error.
    rows : int
        The number of rows.
    test_rows : int
        The number of test rows in each repeat.
    seed : int
        The seed of the repeats.
    fingerprint : str
        A hash of the rows and labels, by which `compare(…, resume=…)` recognises them.
    names : tuple of str
        The names of the models.
    repeats : int
        The number of complete repeats.
    asked : int
        The number of requested repeats.
    better : str
        "lower" or "higher": the direction in which scores are better.
    complete : bool
        Whether all requested repeats are complete.
    missing : ndarray of bool, of shape (M, S, R)
        The fits that were not tried yet.
    whole : ndarray of bool, of shape (R,)
        The repeats that are complete.
    mean : ndarray of shape (M, S)
        The mean score of each model at each size, over the complete repeats.
    standard_error : ndarray of shape (M, S)
        The standard error of the mean. It is nan with fewer than two repeats.
    differences : dict of (str, str) to Difference
        The difference generative − discriminative for each of the `pairs`.
    crossings : tuple of Crossing
        The crossing for each of the `pairs`.

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes, NIPS 14.
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52, 239–281.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, LogisticRegression, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"LDA": LDA(), "logistic": LogisticRegression()}
    >>> found = compare(models, X, y, sizes=[30, 100], repeats=10)
    >>> found.names, found.mean.shape, found.complete
    (('LDA', 'logistic'), (2, 2), True)
    """

    models: dict[str, str]
    sizes: np.ndarray  # (S,)
    values: np.ndarray = field(repr=False)  # (M, S, R)
    scoring: str
    lower_is_better: bool
    pairs: tuple[tuple[str, str], ...]
    failures: tuple[Failure, ...]
    rows: int
    test_rows: int
    seed: int
    fingerprint: str = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.models)

    @property
    def repeats(self) -> int:
        """The number of complete repeats."""
        return int(self.whole.sum())

    @property
    def asked(self) -> int:
        """The number of requested repeats."""
        return int(self.values.shape[2])

    @property
    def better(self) -> str:
        """The direction in which scores are better: "lower" or "higher"."""
        return "lower" if self.lower_is_better else "higher"

    @cached_property
    def missing(self) -> np.ndarray:
        """(M, S, R) bool: the fits that were not tried yet."""
        out = np.isnan(self.values)
        m = {name: i for i, name in enumerate(self.names)}
        s = {size: i for i, size in enumerate(self.sizes.tolist())}
        for failure in self.failures:
            out[m[failure.model], s[failure.size], failure.repeat] = False
        return out

    @cached_property
    def whole(self) -> np.ndarray:
        """(R,) bool: the repeats in which every model was tried at every size."""
        return np.logical_not(self.missing.any(axis=(0, 1)))

    @property
    def complete(self) -> bool:
        """Whether all requested repeats are complete."""
        return bool(self.whole.all())

    # Means and differences ----------------------------------------------------------------

    @cached_property
    def mean(self) -> np.ndarray:
        """(M, S) the mean over the complete repeats."""
        return _mean_and_error(self.values[..., self.whole])[0]

    @cached_property
    def standard_error(self) -> np.ndarray:
        """(M, S) the standard error of the mean; nan with fewer than two repeats."""
        return _mean_and_error(self.values[..., self.whole])[1]

    @checked
    def difference(self, first: str, second: str) -> Difference:
        """Difference first − second at each size, paired by repeat.

        Parameters
        ----------
        first : str
            The name of a model.
        second : str
            The name of another model.

        Returns
        -------
        Difference
            The mean difference, its standard error and the number of repeats, at each size.

        Raises
        ------
        VerosimError
            If a name is not the name of a model.
        """
        apart = self._of(first) - self._of(second)
        return Difference(*_mean_and_error(apart), (~np.isnan(apart)).sum(axis=1))

    @property
    def differences(self) -> dict[tuple[str, str], Difference]:
        """The difference generative − discriminative for each pair."""
        return {pair: self.difference(*pair) for pair in self.pairs}

    @checked
    def crossing(self, generative: str, discriminative: str) -> Crossing:
        """Size at which the curves of two models cross, with a bootstrap interval.

        Parameters
        ----------
        generative : str
            The name of the first model.
        discriminative : str
            The name of the second model.

        Returns
        -------
        Crossing
            The last crossing and its 95 % interval over the repeats.

        Raises
        ------
        VerosimError
            If a name is not the name of a model.
        """
        lead = self._of(generative) - self._of(discriminative)
        lead = lead if self.lower_is_better else -lead
        seed = np.random.SeedSequence(self.seed, spawn_key=(0, 2))  # not the key of a repeat
        rng = np.random.default_rng(seed)
        return crossing(generative, discriminative, self.sizes, lead, rng)

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """The crossing for each pair."""
        return tuple(self.crossing(*pair) for pair in self.pairs)

    def _of(self, name: str) -> np.ndarray:
        """(S, R) the values of a model in the complete repeats."""
        return self.values[self._place(name)][:, self.whole]

    def _place(self, name: str) -> int:
        if name not in self.models:
            raise VerosimError(
                f"{name!r} is not one of the models.", f"Use one of {listed(list(self.names))}."
            )
        return self.names.index(name)

    @checked
    def only(self, *names: str | Sequence[str]) -> Comparison:
        """Comparison of some of the models.

        Parameters
        ----------
        *names : str, or one list or tuple of str
            The names of the models to keep.

        Returns
        -------
        Comparison
            The comparison with these models only.

        Raises
        ------
        VerosimError
            If a name is not the name of a model.
        """
        kept: Any = names
        if len(names) == 1 and isinstance(names[0], list | tuple):
            kept = tuple(names[0])
        at = [self._place(name) for name in kept]
        return replace(
            self,
            models={name: self.models[name] for name in kept},
            values=self.values[at],
            pairs=tuple(pair for pair in self.pairs if set(pair) <= set(kept)),
            failures=tuple(failure for failure in self.failures if failure.model in kept),
        )

    # Tables and plots ---------------------------------------------------------------------

    def to_dict(self) -> dict[str, list[Any]]:
        """Means as columns, with one row per model and size.

        Returns
        -------
        dict of str to list
            The columns "model", "size", "mean", "standard_error" and "repeats".
        """
        M, S = self.mean.shape
        known = (~np.isnan(self.values[..., self.whole])).sum(axis=2)
        return {
            "model": np.repeat(self.names, S).tolist(),
            "size": np.tile(self.sizes, M).tolist(),
            "mean": self.mean.ravel().tolist(),
            "standard_error": self.standard_error.ravel().tolist(),
            "repeats": known.ravel().tolist(),
        }

    def to_pandas(self) -> PandasFrame:
        """Means as a pandas DataFrame, with one row per model and size.

        Returns
        -------
        pandas.DataFrame
            The columns "model", "size", "mean", "standard_error" and "repeats".
        """
        return pandas_frame(self.to_dict())

    @checked
    def table(self, markdown: bool = True) -> str:
        """Mean ± standard error of each model as text, with one line per size.

        Parameters
        ----------
        markdown : bool, default=True
            Whether to write a Markdown table. False writes aligned columns.

        Returns
        -------
        str
            The table.
        """
        cells = self._cells()
        if markdown:
            cells.insert(1, ["---"] * len(cells[0]))
            return in_lines("| " + " | ".join(line) + " |" for line in cells)
        return "\n".join(table_lines(cells, range(len(cells[0]))))

    def _cells(self) -> list[list[str]]:
        """The head of the table, and one line per size."""
        cells = [["rows", *self.names]]
        for s, size in enumerate(self.sizes.tolist()):
            shown = [
                _shown(mean, error)
                for mean, error in zip(self.mean[:, s], self.standard_error[:, s], strict=True)
            ]
            cells.append([f"{size:,}", *shown])
        return cells

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        return html_table(self._title(), head, rows, self._notes(), range(len(head)))

    def __str__(self) -> str:
        table = self.table(markdown=False).split("\n")
        return in_lines([self._title(), *table, *self._notes()])

    def _title(self) -> str:
        times = "1 repeat" if self.repeats == 1 else f"{self.repeats} repeats"
        return f"{self.scoring} ({self.better} is better), {times}, {self.test_rows:,} test rows"

    def _notes(self) -> list[str]:
        """The lines below the table."""
        lines = [*map(str, self.crossings)]
        if self.failures:
            lines.append(f"{len(self.failures)} fits failed: see failures")
        if not self.complete:
            lines.append(f"not complete: {self.repeats} of {self.asked} repeats")
        return lines

    __repr__ = __str__

    @checked
    def plot(self, ax: PlotAxes | None = None, **how: object) -> PlotAxes:
        """Draw the curves with bands of two standard errors, and mark the crossings.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            The axes to draw on. None makes a new figure.
        **how : dict
            `labels` (bool) writes the names next to the curves, `crossings` (bool) marks the
            crossings, and `colours` (dict) gives a colour for each name. The first two are True by
            default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the curves.
        """
        drawn: PlotAxes = plotted("plot_comparison", self, ax, **how)
        return drawn

    # Files --------------------------------------------------------------------------------

    @checked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the comparison in a JSON file, with the full precision of all numbers.

        The file is replaced in one step, so an interrupt does not damage it.

        Parameters
        ----------
        path : str or path
            The file.
        """
        content = {
            "format": FORMAT,
            **asdict(self),
            "sizes": self.sizes.tolist(),
            "values": _without_nan(self.values),
        }
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        with writing(path), whole_file(path) as file:
            file.write(text.encode())

    @classmethod
    @checked
    def load(cls, path: str | os.PathLike[str]) -> Comparison:
        """Load a comparison that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Comparison
            The comparison.

        Raises
        ------
        VerosimError
            If the file cannot be read or is not a comparison.
        """
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except (OSError, ValueError) as error:
            raise VerosimError(
                f"The file {os.fspath(path)!r} cannot be read: {error}.",
                "Use a file that was written by save().",
            ) from None
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise VerosimError(
                f"The file {os.fspath(path)!r} is not a comparison of format {FORMAT}.",
                "Use a file that was written by save().",
            )
        content = {name: content[name] for name in cls.__dataclass_fields__}
        shape = (len(content["models"]), len(content["sizes"]), -1)
        content |= {
            "sizes": np.array(content["sizes"], dtype=np.int64),
            "values": np.array(content["values"], dtype=float).reshape(shape),
            "pairs": tuple(tuple(pair) for pair in content["pairs"]),
            "failures": tuple(Failure(*failure) for failure in content["failures"]),
        }
        return cls(**content)


def in_order(failures: Iterable[Failure], names: tuple[str, ...]) -> tuple[Failure, ...]:
    """The failures sorted by repeat, size and model, whatever the order of the threads."""
    return tuple(sorted(failures, key=lambda f: (f.repeat, f.size, names.index(f.model))))


def _without_nan(values: np.ndarray) -> list[Any]:
    """Nested lists for JSON, with null instead of nan."""
    content = values.astype(object)
    content[np.isnan(values)] = None
    return content.tolist()


def _mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the last axis without nan, and its standard error."""
    there = ~np.isnan(values)
    count = there.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, values, 0.0).sum(axis=-1) / count
        squares = np.where(there, values - mean[..., None], 0.0) ** 2
        error = np.sqrt(squares.sum(axis=-1) / (count - 1) / count)
    return mean, np.where(count > 1, error, np.nan)


def _shown(mean: float, error: float) -> str:
    if np.isnan(mean):
        return "–"
    return f"{mean:.4f}" if np.isnan(error) else f"{mean:.4f} ± {error:.4f}"
