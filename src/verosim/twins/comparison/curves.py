"""Learning curves side by side: what every model scored, on the same rows, at every size.

    mean(m) = Σ_r value(m, r) / R,   se(m) = sd_r value(m, r) / √R,   of differences likewise

Repeats are random splits of the same rows: a standard error says how well the mean over such
splits is known, not how other rows would turn out.
Reference: Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from verosim.errors import VerosimError, listed
from verosim.twins.comparison.crossing import Crossing, crossing

FORMAT = 1  # of the file


class Failure(NamedTuple):
    """A fit, or its judgement, that raised an error."""

    model: str
    size: int
    repeat: int
    reason: str


@dataclass(frozen=True, eq=False)
class Difference:
    """One model's values minus another's, repeat by repeat."""

    mean: np.ndarray  # (S,)
    standard_error: np.ndarray  # (S,)
    repeats: np.ndarray  # (S,) how many have both


@dataclass(frozen=True, eq=False)
class Comparison:
    """Learning curves of several models on the same draws; see :func:`~verosim.compare`.

    Only whole repeats count: those in which every model was tried at every size. A fit that failed
    is nan in `values` and has its reason in `failures`; means are over the others.
    """

    models: dict[str, str]  # what each name stands for
    sizes: np.ndarray  # (S,) training rows
    values: np.ndarray = field(repr=False)  # (M, S, R), nan where there is none
    scoring: str  # what the values are
    lower_is_better: bool
    pairs: tuple[tuple[str, str], ...]  # generative, discriminative
    failures: tuple[Failure, ...]
    rows: int
    test_rows: int
    seed: int
    fingerprint: str = field(repr=False)  # of the rows and labels

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.models)

    @property
    def repeats(self) -> int:
        """How many repeats are whole, and so count."""
        return int(self.whole.sum())

    @property
    def asked(self) -> int:
        """How many repeats were asked for."""
        return int(self.values.shape[2])

    @property
    def better(self) -> str:
        """Which way is better: "lower" or "higher"."""
        return "lower" if self.lower_is_better else "higher"

    @cached_property
    def missing(self) -> np.ndarray:
        """(M, S, R) bool: what was not tried yet."""
        out = np.isnan(self.values)
        m = {name: i for i, name in enumerate(self.names)}
        s = {size: i for i, size in enumerate(self.sizes.tolist())}
        for failure in self.failures:
            out[m[failure.model], s[failure.size], failure.repeat] = False
        return out

    @cached_property
    def whole(self) -> np.ndarray:
        """(R,) bool: repeats in which every model was tried at every size."""
        return np.logical_not(self.missing.any(axis=(0, 1)))

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for was tried."""
        return bool(self.whole.all())

    # Means and differences ----------------------------------------------------------------

    @cached_property
    def mean(self) -> np.ndarray:
        """(M, S) over the whole repeats."""
        return _mean_and_error(self.values[..., self.whole])[0]

    @cached_property
    def standard_error(self) -> np.ndarray:
        """(M, S) of the mean; nan with fewer than two repeats."""
        return _mean_and_error(self.values[..., self.whole])[1]

    def difference(self, first: str, second: str) -> Difference:
        """first − second at every size, paired by repeat, which is what makes small ones show."""
        apart = self._of(first) - self._of(second)
        return Difference(*_mean_and_error(apart), (~np.isnan(apart)).sum(axis=1))

    @property
    def differences(self) -> dict[tuple[str, str], Difference]:
        """generative − discriminative of every pair."""
        return {pair: self.difference(*pair) for pair in self.pairs}

    def crossing(self, generative: str, discriminative: str) -> Crossing:
        """Where the curves of two models cross, with a bootstrap interval over the repeats."""
        lead = self._of(generative) - self._of(discriminative)
        lead = lead if self.lower_is_better else -lead
        seed = np.random.SeedSequence(self.seed, spawn_key=(0, 2))  # no draw's
        rng = np.random.default_rng(seed)
        return crossing(generative, discriminative, self.sizes, lead, rng)

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """The crossing of every generative and discriminative pair."""
        return tuple(self.crossing(*pair) for pair in self.pairs)

    def _of(self, name: str) -> np.ndarray:
        """(S, R) the values of a model in whole repeats."""
        return self.values[self._place(name)][:, self.whole]

    def _place(self, name: str) -> int:
        if name not in self.models:
            raise VerosimError(
                f"{name!r} is not one of the models.", f"they are {listed(list(self.names))}."
            )
        return self.names.index(name)

    def only(self, *names: Any) -> Comparison:
        """The comparison of some of the models."""
        if len(names) == 1 and isinstance(names[0], list | tuple):
            names = tuple(names[0])
        at = [self._place(name) for name in names]
        return replace(
            self,
            models={name: self.models[name] for name in names},
            values=self.values[at],
            pairs=tuple(pair for pair in self.pairs if set(pair) <= set(names)),
            failures=tuple(failure for failure in self.failures if failure.model in names),
        )

    # To be read ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns: a line for every model and size."""
        M, S = self.mean.shape
        known = (~np.isnan(self.values[..., self.whole])).sum(axis=2)
        return {
            "model": np.repeat(self.names, S).tolist(),
            "size": np.tile(self.sizes, M).tolist(),
            "mean": self.mean.ravel().tolist(),
            "standard_error": self.standard_error.ravel().tolist(),
            "repeats": known.ravel().tolist(),
        }

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise VerosimError(
                "to_pandas() needs pandas, which is not installed.",
                "pip install pandas, or use to_dict().",
            ) from error
        return pd.DataFrame(self.to_dict())

    def table(self, markdown: bool = True) -> str:
        """Mean ± standard error of every model, a line for every size."""
        cells = [["rows", *self.names]]
        for s, size in enumerate(self.sizes.tolist()):
            shown = [
                _shown(mean, error)
                for mean, error in zip(self.mean[:, s], self.standard_error[:, s], strict=True)
            ]
            cells.append([f"{size:,}", *shown])
        if markdown:
            cells.insert(1, ["---"] * len(cells[0]))
            return "\n".join("| " + " | ".join(line) + " |" for line in cells)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in cells
        )

    def __str__(self) -> str:
        times = "1 repeat" if self.repeats == 1 else f"{self.repeats} repeats"
        lines = [
            f"{self.scoring} ({self.better} is better), {times}, {self.test_rows:,} test rows",
            self.table(markdown=False),
            *map(str, self.crossings),
        ]
        if self.failures:
            lines.append(f"{len(self.failures)} fits failed: see failures")
        if not self.complete:
            lines.append(f"not complete: {self.repeats} of {self.asked} repeats")
        return "\n".join(lines)

    __repr__ = __str__

    def plot(self, ax: Any = None, **how: Any) -> Any:
        """Draw the curves, with bands of two standard errors, and where they cross.

        Parameters
        ----------
        ax : matplotlib Axes to draw on; None for a new figure
        labels : whether to write the names beside the curves
        crossings : whether to mark where the pairs cross
        colours : dict by name; the others have usual ones

        Returns
        -------
        The Axes.
        """
        from verosim.twins.comparison.picture import draw

        return draw(self, ax, **how)

    # To be kept ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep it all in one JSON file, numbers to the last digit, in one step or not at all."""
        content = {
            "format": FORMAT,
            **asdict(self),
            "sizes": self.sizes.tolist(),
            "values": _without_nan(self.values),
        }
        path = Path(path)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with open(part, "w", encoding="utf-8") as file:
                json.dump(content, file, ensure_ascii=False, allow_nan=False)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Comparison:
        """What `save` kept."""
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except (OSError, ValueError) as error:
            raise VerosimError(f"{os.fspath(path)!r} cannot be read: {error}.") from None
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            raise VerosimError(
                f"{os.fspath(path)!r} is no comparison of format {FORMAT}.",
                "Comparison.save writes them.",
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
    """By repeat, size and model, whichever thread was first."""
    return tuple(sorted(failures, key=lambda f: (f.repeat, f.size, names.index(f.model))))


def _without_nan(values: np.ndarray) -> list[Any]:
    """Nested lists for JSON, which has no nan: null instead."""
    content = values.astype(object)
    content[np.isnan(values)] = None
    return content.tolist()


def _mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the last axis, of what is there, and its standard error."""
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
