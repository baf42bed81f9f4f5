"""A program: the scores of a model written down as data.

    δ_k(x) = log π_k + Σ_t s_tk(x)

Typed cells become values by the readings, and values become scores by the terms t. A program needs
neither the model nor its training rows. It is written as strict JSON and can be evaluated anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from verosim.arguments import checked
from verosim.data import code_readings  # noqa: F401  from_json knows the kinds of readings in it
from verosim.data.nodes import MALFORMED_HINT, array_of_numbers, as_plain, malformed
from verosim.data.readings import CellReading, typed_column
from verosim.data.shared_parts import restored, without_repeats
from verosim.densities.terms import Term
from verosim.densities.terms.composed import total
from verosim.densities.terms.tempered import log_posterior
from verosim.errors import VerosimError, listed
from verosim.kinds import design_readings  # noqa: F401  from_json knows the kinds of readings in it

if TYPE_CHECKING:
    from verosim.typing import Source

PROGRAM_FORMAT, PROGRAM_VERSION = "verosim program", 1
JOINT_OUTPUT, POSTERIOR_OUTPUT, SCORES_OUTPUT = "log_joint", "log_posterior", "scores"
OUTPUTS = (JOINT_OUTPUT, POSTERIOR_OUTPUT, SCORES_OUTPUT)
PROGRAM_FIELDS = (
    "format",
    "version",
    "output",
    "classes",
    "log_prior",
    "inputs",
    "readings",
    "terms",
    "shared",
)

MICROSECOND = timedelta(microseconds=1)
# Labels that JSON does not have: their type there, as a text, and back.
LABELS_AS_TEXT: dict[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    bytes: ("bytes", bytes.hex, bytes.fromhex),
    Decimal: ("decimal", str, Decimal),
    date: ("date", date.isoformat, date.fromisoformat),
    datetime: ("datetime", datetime.isoformat, datetime.fromisoformat),
    timedelta: (
        "microseconds",
        lambda label: str(label // MICROSECOND),
        lambda text: int(text) * MICROSECOND,
    ),
}


@dataclass(frozen=True, eq=False)
class Program:
    """The scores of a model as data.

    `model.program()` makes it. A program takes rows of typed cells: numbers, texts of categories,
    booleans, dates and texts. Each reading turns cells into one value per row, and each term turns
    values into one score per class. The scores of the classes are

        δ_k(x) = log π_k + Σ_t s_tk(x)

    where π_k is the prior of class k and s_tk is the score of term t. If the model is a density,
    they are its `log_joint`. If the model has no probabilities, such as a support vector machine,
    they are its scores, and the largest one decides. Otherwise the program gives the log posteriors

        log p(k | x) = δ_k(x) − log Σ_j exp δ_j(x)

    Attributes
    ----------
    classes : tuple
        The class labels, C in total.
    log_prior : ndarray of shape (C,)
        The logarithms of the priors, with the offsets of a calibration or of a pool; −∞ for a
        class without rows.
    readings : tuple of CellReading
        How typed cells become values.
    terms : tuple of Term
        How values become scores.
    output : {"log_joint", "log_posterior", "scores"}
        Which scores `evaluate` gives.
    inputs : dict
        The type of each column that the program reads: "number", "boolean", "category", "value",
        "date" or "text".

    References
    ----------
    Duda, Hart & Stork (2001), Pattern Classification, §2.4.

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.0, 1.8, 3.1, 2.2], "hue": ["red", None, "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> program = verosim.NaiveBayes().fit(table, "kind").program()
    >>> program.inputs
    {'size': 'number', 'hue': 'category'}
    >>> program.evaluate({"size": [1.1, None], "hue": ["green", "blue"]}).round(2)
    array([[-2.08, -8.13],
           [-1.79, -0.98]])
    >>> verosim.bayes.Program.from_json(program.to_json()) == program
    True
    """

    classes: tuple[Any, ...]
    log_prior: np.ndarray  # (C,)
    readings: tuple[CellReading, ...]
    terms: tuple[Term, ...]
    output: str = JOINT_OUTPUT

    def __post_init__(self) -> None:
        if self.log_prior.shape != (len(self.classes),):
            raise malformed(f"{len(self.classes)} classes have {self.log_prior.size} priors")
        if self.output not in OUTPUTS:
            raise malformed(f"the output {self.output!r} is not known")
        for term in self.terms:
            term.check(len(self.readings), len(self.classes))
            term.check_values(self.readings)
        _ = self.inputs

    @property
    def inputs(self) -> dict[str, str]:
        """The type of each column that the program reads, by its name."""
        out: dict[str, str] = {}
        for reading in self.readings:
            for name, type_ in reading.inputs.items():
                if out.setdefault(name, type_) != type_:
                    raise malformed(f"column {name!r} has two types, {out[name]} and {type_}")
        return out

    def of_posterior(self, terms: Sequence[Term], log_prior: np.ndarray) -> Program:
        """A program of the same cells with other terms, which gives log posteriors.

        Parameters
        ----------
        terms : sequence of Term
            The terms.
        log_prior : ndarray of shape (C,)
            The logarithms of the priors, with offsets.

        Returns
        -------
        Program
            The program.
        """
        return replace(self, terms=tuple(terms), log_prior=log_prior, output=POSTERIOR_OUTPUT)

    # Evaluating ----------------------------------------------------------------------------------

    def evaluate(self, rows: Source) -> np.ndarray:
        """Compute the scores of rows, in plain numpy.

        Parameters
        ----------
        rows : mapping, ndarray or sparse matrix of shape (n, d), or list of str
            The typed cells. A mapping has one array per column, and a column that is left out is
            missing. The columns of a matrix are in the order of `inputs`. A program of one text
            also takes a list of texts. A missing cell is NaN, None or NaT.

        Returns
        -------
        ndarray of shape (n, C)
            The log joint densities, the log posteriors or the scores, as `output` says.
        """
        return self.evaluate_with_size(rows)[0]

    def evaluate_with_size(self, rows: Source) -> tuple[np.ndarray, np.ndarray]:
        """Compute the scores of rows, and the size of the numbers that were added.

        The size of a score is the sum of the absolute values of all products in it, also of those
        inside linear and quadratic forms. Rounding errors of a score are a small multiple of its
        size.

        Parameters
        ----------
        rows : mapping, ndarray or sparse matrix of shape (n, d), or list of str
            The typed cells.

        Returns
        -------
        scores : ndarray of shape (n, C)
            The scores.
        size : ndarray of shape (n, C)
            The size of each score.
        """
        cells, n = self._typed(rows)
        values = [reading.read(cells) for reading in self.readings]
        scores, size = total(self.terms, values, self.log_prior, n)
        if self.output == POSTERIOR_OUTPUT:
            return log_posterior(scores, size, self.log_prior)
        return scores, size

    @checked
    def typed(self, rows: Source) -> tuple[dict[str, np.ndarray], int]:
        """Convert rows to the typed cells that the readings use.

        Parameters
        ----------
        rows : mapping, ndarray or sparse matrix of shape (n, d), or list of str
            The typed cells, in any form that `evaluate` takes.

        Returns
        -------
        cells : dict of str to ndarray of shape (n,)
            The cells of each column.
        n : int
            The number of rows.
        """
        return self._typed(rows)

    def _typed(self, rows: Any) -> tuple[dict[str, np.ndarray], int]:
        """The typed cells of each column, and the number of rows."""
        inputs = self.inputs
        if not isinstance(rows, Mapping) and hasattr(rows, "columns"):  # a data frame
            names = list(getattr(rows, "column_names", rows.columns))  # Arrow has the first
            rows = {name: rows[name] for name in names if name in inputs}
            if not rows:
                raise VerosimError(
                    f"The table has none of the columns {listed(list(inputs))}.",
                    f"Its columns are {listed([str(name) for name in names])}.",
                )
        if not isinstance(rows, Mapping):
            rows = self._by_position(rows)
        odd = [name for name in rows if name not in inputs]
        if odd:
            raise VerosimError(
                f"The program does not read the columns {listed(odd)}.",
                f"Give the columns {listed(list(inputs))}.",
            )
        n = max((len(np.asarray(column)) for column in rows.values()), default=0)
        return {name: typed_column(name, t, rows.get(name), n) for name, t in inputs.items()}, n

    def _by_position(self, rows: Any) -> dict[str, Any]:
        """The columns of a matrix, or the only column of a list of texts."""
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        matrix = np.asarray(rows, dtype=object if isinstance(rows, list) else None)
        matrix = matrix[:, None] if matrix.ndim == 1 and len(self.inputs) == 1 else matrix
        if matrix.ndim != 2 or matrix.shape[1] != len(self.inputs):
            raise VerosimError(
                f"The program reads {len(self.inputs)} columns; got the shape {matrix.shape}.",
                "Give a matrix with these columns, or a mapping of columns.",
            )
        return dict(zip(self.inputs, matrix.T, strict=True))

    # Writing -------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Write the program as strict JSON: no NaN, no infinity.

        Returns
        -------
        str
            The JSON text. −∞ is written as "-inf". `Program.from_json` reads it.
        """
        try:
            nodes = [one.plain() for one in self.readings], [one.plain() for one in self.terms]
            (readings, terms), shared = without_repeats(nodes)
            data = {
                "format": PROGRAM_FORMAT,
                "version": PROGRAM_VERSION,
                "output": self.output,
                "classes": list(map(_plain_class, self.classes)),
                "log_prior": as_plain(self.log_prior),
                "inputs": [{"column": name, "type": type_} for name, type_ in self.inputs.items()],
                "readings": readings,
                "terms": terms,
                "shared": shared,
            }
            return json.dumps(data, allow_nan=False, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise VerosimError(
                f"The program has a value that JSON cannot express: {error}.",
                "Use categories and labels that are texts, whole numbers or booleans.",
            ) from None

    @classmethod
    @checked
    def from_json(cls, text: str) -> Program:
        """Read a program that `to_json` has written.

        Parameters
        ----------
        text : str
            The JSON text.

        Returns
        -------
        Program
            The program.

        Raises
        ------
        VerosimError
            If the text is not a program of a known version.
        """
        try:
            data = json.loads(text, parse_constant=_refuse)
        except (TypeError, ValueError, RecursionError) as error:
            raise malformed(f"it is not strict JSON ({error})") from None
        if not isinstance(data, dict) or data.get("format") != PROGRAM_FORMAT:
            raise malformed(f"its format is not {PROGRAM_FORMAT!r}")
        if data.get("version") != PROGRAM_VERSION:
            raise VerosimError(
                f"The version of a program must be {PROGRAM_VERSION}; got {data.get('version')!r}.",
                MALFORMED_HINT,
            )
        if data.keys() != {*PROGRAM_FIELDS} or not all(
            isinstance(data[name], list) for name in ("classes", "readings", "terms", "shared")
        ):
            raise malformed(f"it does not have the fields {', '.join(PROGRAM_FIELDS)}")
        readings, terms = restored((data["readings"], data["terms"]), data["shared"])
        out = cls(
            tuple(map(_class_of, data["classes"])),
            array_of_numbers(data["log_prior"], "log_prior"),
            tuple(CellReading.from_plain(one) for one in readings),
            tuple(Term.from_plain(one) for one in terms),
            data["output"],
        )
        if data["inputs"] != [{"column": n, "type": t} for n, t in out.inputs.items()]:
            raise malformed("its inputs are not those of its readings")
        return out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]


def _plain_class(label: Any) -> Any:
    """A label as JSON has it: itself, or its type and a text."""
    if type(label) not in LABELS_AS_TEXT:
        return label
    kind, written, _ = LABELS_AS_TEXT[type(label)]
    return {"type": kind, "text": written(label)}


def _class_of(plain: Any) -> Any:
    """The label that `_plain_class` has written."""
    if not isinstance(plain, dict):
        return plain
    for kind, _, read in LABELS_AS_TEXT.values():
        if plain.keys() == {"type", "text"} and plain["type"] == kind:
            try:
                return read(plain["text"])
            except (TypeError, ValueError, ArithmeticError):
                break
    raise malformed(f"{plain!s:.60} is not a label")


def _refuse(constant: str) -> None:
    raise ValueError(f"it contains {constant}")
