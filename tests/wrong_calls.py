"""Calls of every public function and method with one or more arguments of the wrong kind.

A target is a public callable with arguments that work. A wrong call is a target in which some
arguments are replaced. It may return, if the value is one that the signature allows. Otherwise it
must raise a `VerosimError`. Any other error, a numerical warning, and a closed file descriptor are
faults.

    python -m tests.wrong_calls 20        # every 20th call; 1 makes all of them
    python -m tests.wrong_calls 1 0 LDA   # all calls of the targets that contain LDA
"""

from __future__ import annotations

import copy
import inspect
import os
import random
import re
import signal
import sqlite3
import sys
import tempfile
import traceback
import typing
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import closing, contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import verosim
import verosim.pool.auto as auto
import verosim.twins.logistic as logistic
from verosim import bayes, insight, pool, theory, twins, validate
from verosim import typing as shared_types

E = verosim.VerosimError
LONGEST_CALL = 60  # seconds
PACKAGES = (verosim, bayes, insight, pool, theory, twins, validate)

rng = np.random.default_rng(7)
y = np.arange(36) % 3  # (n,)
X = rng.poisson(3, (36, 4)) + 2.0 * (y[:, None] == np.arange(4))  # (n, d)
WORDS = ["ash", "birch", "cedar", "elm", "fir", "lime", "oak", "pine"]
TEXTS = [" ".join([*rng.choice(WORDS, 6), WORDS[k]]) for k in y]
TABLE = {
    "size": X[:, 0].tolist(),
    "width": X[:, 1].tolist(),
    "town": ["Lima" if x > 3 else "Oslo" for x in X[:, 2]],
    "class": [f"k{min(k, 1)}" for k in y],
}
ROW = {"size": [3.0], "width": [4.0], "town": ["Lima"]}

# Methods that the documentation calls internal, and those that take values of the library.
INTERNAL = frozenset(
    """
    set_state settings evaluate opened_to_score checked_state checked_model check_has_rows fitted
    check_columns rule_of set_weights set_columns training_rows program_terms fit_like spec rule
    attributed folded of_posterior evaluate_with_size answer about
    """.split()  # noqa: SIM905
)
# Models that are fitted on the table too.
OF_TABLES = ("NaiveBayes", "TAN", "AODE", "KDB", "Pool", "LiftedLDA")
# Classes whose arguments are arrays that the library has checked.
INNER = {"Rule", "Decision", "LinearScores", "ClassScores"}


# Valid calls -------------------------------------------------------------------------------------


@cache
def fitted(name: str, **settings: Any) -> Any:
    """A fitted model. The rows are the smallest that it can be fitted on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return unfitted(name).set_params(**settings).fit(rows_of(name), y)


def unfitted(name: str) -> Any:
    make = getattr(verosim, name)
    return make(**constructor_arguments(name))


def constructor_arguments(name: str) -> dict[str, Any]:
    if name in ("Calibrated", "SemiSupervised", "Conformal", "Reject", "Twin"):
        return {"model": verosim.GaussianNB()}
    if name in ("OneVsRest", "OneVsOne"):
        return {"estimator": verosim.LinearSVM()}
    if name in ("Pool", "TextPool"):
        return {"effort": "fast"}
    return {}


def rows_of(name: str) -> Any:
    if name == "table":
        return TABLE
    return TEXTS if name.startswith("Text") else X


@cache
def naive() -> Any:
    """A model of a table."""
    return verosim.NaiveBayes().fit(TABLE, "class")


class Values:
    """Arguments that work, by the name of the parameter."""

    def __init__(self, owner: Any = None, estimator: str = "LDA") -> None:
        self.owner, self.estimator = owner, estimator

    def of(self, name: str, callable_name: str) -> Any:
        known = SPECIAL.get((callable_name, name), SPECIAL.get(name))
        if known is None:
            raise LookupError(f"{callable_name} needs {name}")
        return known(self)


SPECIAL: dict[Any, Callable[[Values], Any]] = {
    "X": lambda v: rows_of(v.estimator),
    "y": lambda v: "class" if v.estimator == "table" else y,
    "Z": lambda v: X,
    "source": lambda v: TABLE,
    ("predict_table", "source"): lambda v: rows_of(v.estimator),
    ("predict_table", "keep"): lambda v: (),
    "model": lambda v: fitted("LDA"),
    "models": lambda v: {"nb": verosim.GaussianNB(), "svm": verosim.LinearSVM()},
    "other": lambda v: v.owner,
    ("drift", "other"): lambda v: fitted("LDA"),
    ("start_from", "model"): lambda v: fitted("GaussianNB"),
    ("generative_gap", "model"): lambda v: verosim.GaussianNB(),
    ("twin", "model"): lambda v: fitted("GaussianNB"),
    "costs": lambda v: 1 - np.eye(3),
    "score": lambda v: lambda rule, rows: rule.decide(rows),
    "row": lambda v: {f"x{j}": [3.0] for j in range(4)} if v.owner is None else 0,
    ("counterfactual", "row"): lambda v: X[0],
    ("what_if", "row"): lambda v: ROW,
    ("what_if", "model"): lambda v: naive(),
    ("effect", "model"): lambda v: naive(),
    ("effect", "column"): lambda v: "size",
    ("nomogram", "model"): lambda v: naive(),
    ("report", "model"): lambda v: naive(),
    ("report", "source"): lambda v: TABLE,
    ("report", "y"): lambda v: "class",
    ("look", "source"): lambda v: TABLE,
    ("read", "source"): lambda v: str(here() / "table.csv"),
    ("save", "path"): lambda v: str(here() / "out"),
    ("info", "path"): lambda v: str(here() / "model.verosim"),
    ("load", "path"): lambda v: str(here() / "model.verosim"),
    ("Comparison.load", "path"): lambda v: str(here() / "comparison.json"),
    ("Schema.load", "path"): lambda v: str(here() / "schema.json"),
    "raw": lambda v: verosim.dumps(fitted("LDA")),
    ("Schema.from_json", "raw"): lambda v: naive().schema_.to_json(),
    ("from_json", "text"): lambda v: fitted("LDA").program().to_json(),
    ("search", "grid"): lambda v: {"shrinkage": [0.0, 0.5]},
    ("search", "model"): lambda v: verosim.LDA(),
    ("path", "model"): lambda v: verosim.LDA(),
    ("path", "name"): lambda v: "shrinkage",
    ("path", "values"): lambda v: [0.0, 0.5],
    "sql": lambda v: "select 1 as a, 2 as b",
    "connection": lambda v: str(here() / "rows.sqlite"),
    "labels": lambda v: y,
    ("reliability", "proba"): lambda v: np.full((36, 3), 1 / 3),
    ("plot_graph", "model"): lambda v: fitted("TAN"),
    ("to_dot", "model"): lambda v: fitted("TAN"),
    ("scorecard", "model"): lambda v: naive(),
    ("plot_nomogram", "model"): lambda v: naive(),
    ("plot_calibration", "found"): lambda v: results()["CrossValidation"].reliability,
    ("plot_candidates", "found"): lambda v: results()["Choice"],
    ("plot_confusion", "found"): lambda v: results()["CrossValidation"],
    ("plot_effect", "found"): lambda v: results()["Effect"],
    ("plot_evidence", "found"): lambda v: results()["Explanation"],
    ("plot_evidence_summary", "found"): lambda v: results()["Explanation"],
    ("plot_importance", "found"): lambda v: results()["Explanation"],
    ("plot_path", "found"): lambda v: results()["Search"],
    ("Importance.of", "found"): lambda v: results()["Explanation"],
    "count": lambda v: 2,
    "factor": lambda v: 0.5,
    "min_count": lambda v: 1.0,
    "priors": lambda v: "uniform",
    "i": lambda v: 0,
    "j": lambda v: 1,
    "k": lambda v: 0,
    ("along", "directions"): lambda v: np.eye(4),
    ("forget", "X"): lambda v: TABLE if v.estimator == "table" else rows_of(v.estimator)[:6],
    ("forget", "y"): lambda v: "class" if v.estimator == "table" else y[:6],
    ("ellipse", "columns"): lambda v: [0, 1],
    ("plot_boundary", "columns"): lambda v: [0, 1],
    ("plot_sample", "columns"): lambda v: [0, 1],
    ("Explanation.of", "column"): lambda v: "x0",
    ("Scorecard.points", "X"): lambda v: ROW,
    ("Scorecard.score", "X"): lambda v: ROW,
    ("what_if", "values"): lambda v: {"size": 9.0},
    ("Effect.difference", "of"): lambda v: "k0",
    "box": lambda v: ((0.0, 5.0), (0.0, 5.0)),
    "of": lambda v: "k0",
    "against": lambda v: "k1",
    "column": lambda v: "size",
    ("Explanation.value", "column"): lambda v: 0,
    ("Explanation.value", "row"): lambda v: 0,
    "path": lambda v: str(here() / "out"),
    "name": lambda v: "accuracy",
    "n_rows": lambda v: 100,
    "n_columns": lambda v: 4,
    "n_classes": lambda v: 3,
    "bins": lambda v: 5,
    "epsilon": lambda v: 0.1,
    "delta": lambda v: 0.05,
    "generative": lambda v: "nb",
    "discriminative": lambda v: "svm",
    "first": lambda v: "nb",
    "second": lambda v: "svm",
    ("evaluate", "rows"): lambda v: X,
    ("typed", "rows"): lambda v: X,
    ("Quadratic.slice", "values"): lambda v: {0: 1.0, 1: 2.0},
    ("edit", "columns"): lambda v: {"size": "ignore"},
    ("gradient", "X"): lambda v: X[:, :2],
    ("Covariance", "matrix"): lambda v: np.eye(2),
    ("Covariance", "mean"): lambda v: np.zeros(2),
    "estimator": lambda v: verosim.LinearSVM(),
}

WITH_LABELS = """
auto calibrate compare conformal cross_validate generative_gap plot_boundary plot_pairs
plot_projection plot_sample plot_whitening reject select reweigh
""".split()  # noqa: SIM905
# Arguments that are given although they have a default.
ALSO = {
    ("fit", "y"),
    ("partial_fit", "y"),
    ("forget", "y"),
    ("score", "y"),
    ("importance", "X"),
    ("ellipse", "columns"),
    ("plot_boundary", "columns"),
    ("plot_sample", "columns"),
    ("what_if", "values"),
    ("nomogram", "source"),
    ("reliability", "proba"),
    ("report", "source"),
    ("report", "y"),
    ("report", "path"),
    *((name, "y") for name in WITH_LABELS),
}
CHEAPER: dict[str, dict[str, Any]] = {
    "auto": {"effort": "fast", "models": [verosim.LDA(), verosim.GaussianNB()], "cv": 3},
    "compare": {"sizes": [12, 18], "repeats": 2},
    "cross_validate": {"cv": 3},
    "search": {"cv": 3},
    "path": {"cv": 3},
    "select": {"cv": 3},
    "generative_gap": {"cv": 3, "C": 1.0},
}


@cache
def here() -> Path:
    """A folder with files of every kind."""
    folder = Path(tempfile.mkdtemp(prefix="verosim-calls-"))
    lines = [
        ",".join(TABLE),
        *(",".join(map(str, row)) for row in zip(*TABLE.values(), strict=True)),
    ]
    (folder / "table.csv").write_text("\n".join(lines))
    verosim.save(fitted("LDA"), folder / "model.verosim")
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows:
        rows.execute("create table rows (a, b)")
    naive().schema_.save(folder / "schema.json")
    results()["Comparison"].save(folder / "comparison.json")
    return folder


@cache
def results() -> dict[str, Any]:
    """One object of every class of results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lda, nb, qda = fitted("LDA"), naive(), fitted("QDA")
        cv = verosim.cross_validate(verosim.LDA(), X, y, 3)
        search = verosim.search(verosim.LDA(), X, y, {"shrinkage": [0.0, 0.5]}, 3)
        found = verosim.explain(lda, X)
        choice = verosim.auto(X, y, **CHEAPER["auto"])
        quadratic = qda.boundary(0, 1, columns=[0, 1])
        out = {
            "CrossValidation": cv,
            "Search": search,
            "Selection": verosim.select(verosim.LDA(), X, y, cv=3),
            "Diagnosis": verosim.diagnose(lda, X, y),
            "Drift": verosim.drift(lda, lda),
            "GroupScores": verosim.cross_validate(verosim.LDA(), X, y, 3, by=np.arange(36) % 2).by,
            "Reliability": cv.reliability,
            "Comparison": verosim.compare(SPECIAL["models"](Values()), X, y, [12, 18], 2),
            "Gap": verosim.generative_gap(verosim.GaussianNB(), X, y, 3, C=1.0),
            "Choice": choice,
            "Candidates": choice.table,
            "Explanation": found,
            "Counterfactual": verosim.counterfactual(lda, X[0], to=1),
            "Effect": verosim.effect(nb, "size"),
            "Importance": verosim.importance(lda, X),
            "Scorecard": verosim.scorecard(nb),
            "WhatIf": verosim.what_if(nb, ROW, size=9.0),
            "Nomogram": verosim.nomogram(nb, TABLE),
            "ModelInfo": None,
            "Schema": nb.schema_,
            "Program": lda.program(),
            "Learned": nb.learned(),
            "LearnedTable": nb.learned("size"),
            "Covariance": lda.covariance_of(),
            "Ellipse": qda.ellipse(0, columns=[0, 1]),
            "Quadratic": quadratic,
            "Conic": quadratic.curve(((0.0, 5.0), (0.0, 5.0))),
            "Whiten": verosim.Whiten().fit(X, y),
        }
    return {name: value for name, value in out.items() if value is not None}


class Target(NamedTuple):
    """A public callable with arguments that work."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    owner: Any = None  # a method is called on a copy of it

    def call(self, arguments: Mapping[str, Any]) -> Any:
        function = self.function
        if self.owner is not None:
            function = getattr(copy.copy(self.owner), self.name.rpartition(".")[2])
        given = dict(arguments)
        first = [  # some arguments have no name
            given.pop(p.name)
            for p in self.signature.parameters.values()
            if p.kind == p.POSITIONAL_ONLY and p.name in given
        ]
        return function(*first, **given)

    @property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def hint(self, name: str) -> Any:
        """The annotation of a parameter, evaluated."""
        text = self.signature.parameters[name].annotation
        return eval(text, {}, _Names()) if isinstance(text, str) else text


class _Names(dict[str, Any]):
    """The names in annotations: types that this file knows, and others by their name."""

    def __missing__(self, name: str) -> Any:
        if name in PLAIN:
            return PLAIN[name]
        for place in (shared_types, typing, logistic, auto):
            if hasattr(place, name):
                return getattr(place, name)
        return type(name, (_ByName,), {})


PLAIN = {
    one.__name__: one for one in (bool, int, float, str, bytes, dict, list, tuple, object, type)
}
PLAIN |= {"os": os, "np": np, "Path": Path, "Hashable": Hashable, "ArrayLike": shared_types.Labels}


class _ByName:
    """A class that is known by its name only."""


@cache
def targets() -> dict[str, Target]:
    """Every public callable."""
    found: dict[str, Target] = {}
    names = [(place, name) for place in PACKAGES for name in getattr(place, "__all__", dir(place))]
    for place, name in names:
        value = getattr(place, name)
        if name.startswith("_") or inspect.ismodule(value) or not callable(value):
            continue
        if not inspect.isclass(value):
            if place is not bayes:
                add(found, name, value, Values())
        elif hasattr(value, "fit"):
            add(found, name, _fit_with(name), Values(estimator=name))
            methods(found, name, fitted(name))
            methods(found, name, unfitted(name), "not fitted ")
            for short in ("predict", "predict_proba", "transform"):
                if hasattr(fitted(name), short):
                    full = f"changed {name}.{short}"
                    found[full] = Target(full, _changed(name, short), {})
    for name, value in results().items():
        if name not in found:
            methods(found, name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in OF_TABLES:
            methods(found, name, unfitted(name).fit(TABLE, "class"), "table ")
    methods(found, "OneVsRest", verosim.OneVsRest(verosim.GaussianNB()).fit(X, y), "naive ")
    return found


def add(found: dict[str, Target], name: str, function: Any, values: Values, owner: Any = None):
    short = name.rpartition(".")[2]
    arguments = dict(CHEAPER.get(name, {}))
    for p in inspect.signature(function).parameters.values():
        needed = p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if p.name not in arguments and (needed or (short, p.name) in ALSO):
            full = (name, p.name) in SPECIAL
            arguments[p.name] = values.of(p.name, name if full else short)
    found[name] = Target(name, function, arguments, owner)


def methods(found: dict[str, Target], name: str, owner: Any, which: str = "") -> None:
    """The public methods of an object, and the functions of its class."""
    if name in INNER:
        return
    for short in dir(type(owner)):
        if short.startswith("_") or short in INTERNAL:
            continue
        try:
            value = getattr(owner, short)
        except (AttributeError, E):
            continue  # a method that this model does not have
        ours = getattr(value, "__module__", None) or ""
        if callable(value) and ours.startswith("verosim") and not inspect.isclass(value):
            static = isinstance(
                inspect.getattr_static(type(owner), short), classmethod | staticmethod
            )
            values = Values(owner, "table" if which == "table " else name)
            full = f"{name}.{short}"
            added: dict[str, Target] = {}
            add(added, full, value, values, None if static else owner)
            found[which + full] = added[full]._replace(name=which + full)


def _fit_with(name: str) -> Callable[..., Any]:
    """A function that makes an estimator with some settings and fits it."""
    make = getattr(verosim, name)

    def fit(**settings: Any) -> Any:
        return make(**{**constructor_arguments(name), **settings}).fit(rows_of(name), y)

    fit.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    return fit


def _changed(name: str, method: str) -> Callable[..., Any]:
    """A function that sets parameters of a fitted model and calls a method of it."""

    def call(**settings: Any) -> Any:
        model = copy.deepcopy(fitted(name)).set_params(**settings)
        return getattr(model, method)(rows_of(name))

    call.__signature__ = inspect.signature(getattr(verosim, name))  # type: ignore[attr-defined]
    return call


# Wrong values ------------------------------------------------------------------------------------


def _planted() -> int:
    """The number of an open file of this process."""
    return PLANTED[0]


PLANTED: list[int] = []
STANDARD = {number: os.dup(number) for number in range(3)}  # True is 1, the standard output

WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "''": lambda: "",
    "'abc'": lambda: "abc",
    "[]": list,
    "np.array([])": lambda: np.array([]),
    "{}": dict,
    "-1": lambda: -1,
    "0": lambda: 0,
    "10**30": lambda: 10**30,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "True": lambda: True,
    "a class": lambda: verosim.LDA,
    "an object": lambda: verosim.LDA(),
    "a fitted model": lambda: fitted("LDA"),
    "y": lambda: y,
    "X": lambda: X,
    "a wider X": lambda: np.hstack([X, X]),
    "a 3-d array": lambda: X.reshape(6, 6, 4),
    "a text array": lambda: np.array([["a", "b"], ["c", "d"]]),
    "texts": lambda: ["some words", "other words"],
    "a dict of one column": lambda: {"a": [1]},
    "a path that does not exist": lambda: Path("/does/not/exist"),
    "a function": lambda: len,
    "1.5": lambda: 1.5,
    "-2.5": lambda: -2.5,
    "bytes": lambda: b"abc",
    "a set": lambda: {1, 2},
    "a generator": lambda: (i for i in range(3)),
    "object()": lambda: object(),
    "a file descriptor": _planted,
    "a mapping of objects": lambda: {"shrinkage": object(), 3: None},
    "a ragged list": lambda: [[1.0, 2.0], [3.0]],
    "a list of None": lambda: [None, None],
    "1j": lambda: 1j,
    "dates": lambda: np.array(["2020-01-01"] * 36, dtype="datetime64[D]"),
}
# More of them, for random calls: values of the right kind that cannot work, and unusual types.
MORE: dict[str, Callable[[], Any]] = {
    "rows without columns": lambda: np.empty((36, 0)),
    "no rows": lambda: np.empty((0, 4)),
    "a number in an array": lambda: np.array(3.0),
    "a complex array": lambda: X + 1j,
    "an array of NaN": lambda: np.full((36, 4), np.nan),
    "an array of inf": lambda: np.full((36, 4), np.inf),
    "an array of None": lambda: np.full((36, 4), None, dtype=object),
    "a sparse matrix": lambda: sparse.csr_matrix(X),
    "a matrix in coordinates": lambda: sparse.coo_matrix(X),
    "an np.matrix": lambda: np.matrix(X),
    "a masked array": lambda: np.ma.masked_array(X, X > 3),
    "a structured array": lambda: np.zeros(36, dtype=[("a", float), ("b", int)]),
    "booleans": lambda: X > 3,
    "a Series": lambda: pd.Series(y),
    "a data frame": lambda: pd.DataFrame(X),
    "a data frame with equal names": lambda: pd.DataFrame(X, columns=list("aabb")),
    "an Arrow table": lambda: pa.table(TABLE),
    "a table of lists": lambda: pa.table({"a": [[1, 2]] * 36}),
    "a table of columns of two lengths": lambda: {"a": [1], "b": [1, 2]},
    "fewer labels": lambda: y[:5],
    "one class": lambda: np.zeros(36, dtype=int),
    "labels that are lists": lambda: [[1]] * 36,
    "weights below zero": lambda: -np.ones(36),
    "half of a character": lambda: "\ud800",
    "a zero byte": lambda: "a\0b",
    "a folder": lambda: str(here()),
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "2**63": lambda: 2**63,
    "1e308": lambda: 1e308,
    "np.int8(-128)": lambda: np.int8(-128),
    "np.uint8(255)": lambda: np.uint8(255),
    "a duration": lambda: np.timedelta64(1, "D"),
    "a fraction": lambda: Fraction(1, 2),
    "pandas.NA": lambda: pd.NA,
    "a tuple": lambda: (0, 1),
    "[99]": lambda: [99],
    "[[]]": lambda: [[]],
    "{'size': None}": lambda: {"size": None},
    "{None: 1}": lambda: {None: 1},
    "{0: nan}": lambda: {0: float("nan")},
    "a model of texts": lambda: fitted("TextNB"),
    "a linear model": lambda: fitted("LinearSVM"),
    "a model of scikit-learn": lambda: LogisticRegression(),
    "an explanation": lambda: results()["Explanation"],
    "a pair of folds that does not exist": lambda: [(0, 99)],
    "'loo'": lambda: "loo",
    "a function of text": lambda: lambda *a, **k: "x",
    "a path": lambda: here() / "table.csv",
    "the name of a column": lambda: "size",
    "the name of a class": lambda: "k0",
}


# What the signature allows -----------------------------------------------------------------------


def allows(hint: Any, value: Any) -> bool:
    """Whether a value can be meant by an annotation. True if that is not certain."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        return any(allows(one, value) for one in inside)
    if hint is None or hint is type(None):
        return value is None
    if origin is Literal:
        return isinstance(value, str) and value in inside
    if hint is Hashable:
        return isinstance(value, Hashable)
    if origin is Callable:
        return callable(value)
    if hint in (Any, object) or hint is shared_types.MissingMarks:
        return True
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        whole = isinstance(value, float) and value.is_integer()
        return (isinstance(value, int | np.integer) and not isinstance(value, bool)) or whole
    if hint is float:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        return number and value == value
    if hint in (str, bytes):
        return isinstance(value, hint)
    if isinstance(hint, type) and issubclass(hint, _ByName):
        if hint.__name__ in ("PlotAxes", "PlotFigure", "Connection", "SavedScores", "Unpack"):
            return not isinstance(value, str | int | float)
        names = {one.__name__ for one in type(value).__mro__}
        return hint.__name__ in names or hint.__name__ in ("PoolClassifier", "Method")
    return not (value is None or callable(value) or type(value) is object)


# Calls -------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A target with some arguments replaced by wrong values."""

    target: str
    changes: tuple[tuple[str, str], ...]  # parameter, name of the wrong value

    def __str__(self) -> str:
        return f"{self.target}({', '.join(f'{p}={v}' for p, v in self.changes)})"

    @property
    def must_fail(self) -> bool:
        """Whether the signature does not allow one of the values."""
        target = targets()[self.target]
        return any(
            v in WRONG  # what cannot work for other reasons than its type may be accepted
            and not allows(target.hint(p), WRONG[v]())
            and WRONG[v]() is not target.signature.parameters[p].default
            for p, v in self.changes
        )

    def run(self) -> str | None:
        """What is wrong with the outcome, or None."""
        target = targets()[self.target]
        given = dict(target.arguments)
        with open(os.devnull, "rb") as planted, warnings.catch_warnings(record=True) as caught:
            PLANTED[:] = [planted.fileno()]
            given.update({p: (WRONG | MORE)[v]() for p, v in self.changes})
            warnings.simplefilter("always")
            fault = None
            try:
                with at_most(LONGEST_CALL), in_empty_folder():
                    result = target.call(given)
                    if isinstance(result, Iterator) or hasattr(result, "read_all"):
                        list(result)
                    if target.name == "use_threads":
                        with result:
                            pass
            except E:
                pass
            except Exception as error:
                fault = kind_of(error)
            else:
                # A setting of the fit that is changed later has no influence on predictions.
                if self.must_fail and not self.target.startswith("changed "):
                    fault = "accepted"
            for number, kept in (*STANDARD.items(), (planted.fileno(), 0)):
                try:
                    os.fstat(number)
                except OSError:
                    os.dup2(kept, number)
                    fault = "a file descriptor was closed"
        close_figures()
        odd = [w for w in caught if issubclass(w.category, RuntimeWarning | DeprecationWarning)]
        if fault is None and odd:
            fault = f"{odd[0].category.__name__}: {str(odd[0].message)[:60]}"
        return fault


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """An error if the block takes too long."""

    def stop(*_: Any) -> None:
        raise TimeoutError("the call takes too long")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def in_empty_folder() -> Iterator[None]:
    """Files that a call writes are written into a folder that is removed."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="verosim-call-") as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def close_figures() -> None:
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def kind_of(error: BaseException) -> str:
    """The class of an error, and the last line of verosim that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/verosim/" in f.filename] or list(frames)
    place = f"{ours[-1].filename.rpartition('/verosim/')[2]}:{ours[-1].lineno}"
    return f"{type(error).__name__} at {place}: {re.sub('[0-9]+', '#', str(error))[:90]}"


def calls_of(name: str) -> Iterator[Call]:
    """A target with each argument replaced by each wrong value."""
    for p in targets()[name].signature.parameters.values():
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            for value in WRONG:
                yield Call(name, ((p.name, value),))


@cache
def _with_arguments() -> list[str]:
    return [name for name in targets() if any(calls_of(name))]


def random_call(seed: int) -> Call:
    """A target with one to four arguments replaced."""
    dice = random.Random(seed)
    name = dice.choice(_with_arguments())
    names = list(dict.fromkeys(call.changes[0][0] for call in calls_of(name)))
    changed = dice.sample(names, min(len(names), dice.choice((1, 1, 2, 2, 3, 4))))
    return Call(name, tuple((p, dice.choice([*WRONG, *MORE])) for p in changed))


def main(step: int, start: int = 0, only: str = "") -> None:
    """Make every step-th call, and print the kinds of faults."""
    kinds: Counter[str] = Counter()
    first: dict[str, str] = {}
    calls = [call for name in targets() if re.search(only, name) for call in calls_of(name)]
    for call in calls[start::step]:
        fault = call.run()
        if fault is not None:
            key = fault if fault != "accepted" else f"accepted {call.changes[0][0]}"
            kinds[key] += 1
            first.setdefault(key, str(call))
    made = len(calls[start::step])
    print(f"{made:,} calls, {sum(kinds.values()):,} faults of {len(kinds)} kinds")
    for key, many in kinds.most_common():
        print(f"{many:5d}  {key}\n         {first[key]}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
