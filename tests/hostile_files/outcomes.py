"""What becomes of a model file with one thing wrong.

refused    a `VerosimError` at load
equal      the model is the saved one
works      the predictions are finite and normalised, and methods work or give a `VerosimError`
wrong      anything else
"""

from __future__ import annotations

import os
import pickle
import random
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

import verosim
from tests.hostile_files.mutations import raw, signed
from tests.hostile_files.originals import Original, originals
from tests.hostile_files.parts import mixed
from verosim import VerosimError

MOST = 1 << 26  # bytes that a loaded model may need
RAW = 0.1  # share of the mutants with wrong bytes
MIXED = 0.4  # … with parts that do not belong together
LIKE = 0.5  # … of these that have parts of another file of the same class
CALLS = 3  # methods of each model, in addition to the predictions
EXPENSIVE = 0.01  # share of the mutants with one of the slow methods
ROUNDING = 1e-9


@dataclass(frozen=True)
class Outcome:
    """The outcome of one mutant."""

    number: int
    name: str  # of the class, and whether the sums were saved
    outcome: str
    detail: str = ""


def mutant(number: int) -> tuple[Original, bytes | None]:
    """A model, and its file with one thing wrong; None if no file can contain that."""
    rng = random.Random(number)
    original = rng.choice(originals())
    kind = rng.random()
    try:
        if kind < RAW:
            return original, raw(original.data, rng)
        if kind < RAW + MIXED:
            same = rng.random() < LIKE
            others = [one.data for one in originals() if not same or one.name == original.name]
            return original, mixed(original.data, others, rng)
        return original, signed(original.data, rng)
    except (VerosimError, ValueError, TypeError, UnicodeError, OverflowError, KeyError):
        return original, None


def one_case(number: int) -> Outcome:
    """The outcome of one mutation by its number."""
    original, data = mutant(number)
    name = f"{original.name}{'' if original.statistics else ' without sums'}"
    if data is None:
        return Outcome(number, name, "not written")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Outcome(number, name, outcome(original, data, random.Random(~number)))
        except Exception as error:  # what it is is the question
            where = " < ".join(
                f"{Path(one.filename).stem}:{one.lineno}"
                for one in reversed(traceback.extract_tb(error.__traceback__)[-4:])
            )
            return Outcome(number, name, "wrong", f"{type(error).__name__}: {error} ({where})")


def outcome(original: Original, data: bytes, rng: random.Random) -> str:
    """The outcome of a file with one thing wrong. What is wrong raises another error."""
    try:
        model = verosim.loads(data, max_bytes=MOST)
    except VerosimError as error:
        check_memory(error)
        return "refused"
    known = [name for name in METHODS if callable(getattr(model, name, None))]
    if isinstance(model, OneVsRestClassifier | OneVsOneClassifier):
        known = [name for name in known if name != "partial_fit"]  # it is that of scikit-learn
    names = ["predictions", *rng.sample([*known, *FUNCTIONS], CALLS)]
    if rng.random() < EXPENSIVE:
        names.append(rng.choice(list(SLOW)))
    for name in names:
        call = CALLED[name]
        try:
            call(model, original)
        except VerosimError as error:
            check_memory(error)
        except Exception as error:
            raise type(error)(f"{name}: {error}").with_traceback(error.__traceback__) from error
    try:
        same = verosim.dumps(model, notes={"a": 1}, statistics=original.statistics)
    except VerosimError:
        return "works"
    return "equal" if same == original.data else "works"


def check_memory(error: BaseException | None) -> None:
    """Raise an error if a lack of memory is among the causes of an error."""
    while error is not None:
        if isinstance(error, MemoryError) or "MemoryError" in str(error):
            raise MemoryError("too much memory") from error
        error = error.__cause__ or error.__context__


# What is called ----------------------------------------------------------------------------------


def _method(name: str) -> Callable[[Any, Original], Any]:
    return lambda model, original: getattr(model, name)(original.rows)


def _with_labels(name: str) -> Callable[[Any, Original], Any]:
    def call(model: Any, original: Original) -> Any:
        one = pickle.loads(pickle.dumps(model)) if name in ("forget", "partial_fit") else model
        if original.target is None:
            return getattr(one, name)(original.rows, original.y)
        table = {**original.rows, original.target: original.y.tolist()}
        return getattr(one, name)(table, original.target)

    return call


def _predictions(model: Any, original: Original) -> None:
    """Finite numbers, and probabilities with the sum 1."""
    n = len(original.y)
    if hasattr(model, "transform"):
        _check_finite(model.transform(original.rows))
    if not hasattr(model, "predict"):
        return
    found = model.predict(original.rows)
    assert len(found) == n, "predict has a wrong number of labels"
    if not hasattr(model, "predict_proba"):
        return
    p = np.asarray(model.predict_proba(original.rows))
    assert p.shape == (n, len(model.classes_)), "predict_proba has a wrong shape"
    assert np.isfinite(p).all(), "a probability is not finite"
    assert (p >= 0).all(), "a probability is negative"
    assert (abs(p.sum(axis=1) - 1) < ROUNDING).all(), "the sum is not 1"
    if hasattr(model, "predict_log_proba"):
        log_p = np.asarray(model.predict_log_proba(original.rows))
        assert not np.isnan(log_p).any(), "a log-probability is NaN"
        assert (log_p <= ROUNDING).all(), "a log-probability is positive"


def _check_finite(found: Any) -> None:
    assert np.isfinite(np.asarray(found, dtype=float)).all(), "not finite"


def _not_nan(name: str) -> Callable[[Any, Original], Any]:
    def call(model: Any, original: Original) -> None:
        found = np.asarray(getattr(model, name)(original.rows), dtype=float)
        assert not np.isnan(found).any(), "NaN"

    return call


def _finite_score(model: Any, original: Original) -> None:
    assert np.isfinite(model.score(original.rows, original.y)), "the score is not finite"


def _attributes(model: Any, original: Original) -> None:
    repr(model)
    for name in dir(type(model)):
        if not name.startswith("_") and isinstance(getattr(type(model), name, None), property):
            try:
                getattr(model, name, None)
            except VerosimError as error:
                check_memory(error)


def _saved_again(model: Any, original: Original) -> None:
    for statistics in (True, False):
        verosim.loads(verosim.dumps(model, statistics=statistics))


def _merged(model: Any, original: Original) -> None:
    other = verosim.loads(original.data)
    _predictions(pickle.loads(pickle.dumps(model)).merge(other), original)
    _predictions(other.merge(model), original)


def _program(model: Any, original: Original) -> None:
    model.program().to_json()


def _info(model: Any, original: Original) -> None:
    with tempfile.NamedTemporaryFile(dir=_folder()) as file:
        file.write(verosim.dumps(model))
        file.flush()
        str(verosim.info(file.name))


def _report(model: Any, original: Original) -> None:
    with tempfile.TemporaryDirectory(dir=_folder()) as folder:
        verosim.report(model, path=Path(folder) / "report.html")


def _folder() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def _updated(change: Callable[[Any], Any]) -> Callable[[Any, Original], Any]:
    def call(model: Any, original: Original) -> None:
        one = pickle.loads(pickle.dumps(model))
        change(one)
        _predictions(one, original)

    return call


def _one_row(original: Original) -> Any:
    if original.target is None:
        rows = original.rows[:1]
        return {"text": rows[0]} if isinstance(rows, list) else rows
    return {name: values[0] for name, values in original.rows.items()}


def _effect(model: Any, original: Original) -> None:
    if not isinstance(original.rows, list):  # a text has no columns
        names = getattr(model, "feature_names_in_", ["x0"])
        str(verosim.effect(model, names[0]))


METHODS: dict[str, Callable[[Any, Original], Any]] = {
    "decision_function": _not_nan("decision_function"), "log_density": _not_nan("log_density"),
    "log_joint": _not_nan("log_joint"), "score": _finite_score,
    "sample": lambda model, original: model.sample(50, random_state=0),
    "merge": _merged, "forget": _with_labels("forget"), "partial_fit": _with_labels("partial_fit"),
    "program": _program, "decay": _updated(lambda one: one.decay(0.5)),
    "prune": _updated(lambda one: one.prune(1.5)), "impute": _method("impute"),
    "with_priors": lambda model, original: _predictions(model.with_priors("uniform"), original),
    "predict_set": _method("predict_set"), "p_values": _method("p_values"),
    "reasons": _method("reasons"), "rejected": _method("rejected"),
    "expert_scores": _method("expert_scores"), "mahalanobis": _method("mahalanobis"),
    "signed_distance": _method("signed_distance"),
    "predict_table": lambda model, original: model.predict_table(original.rows).read_all(),
    "top_tokens": lambda model, original: model.top_tokens(3),
    "inverse_transform": _method("inverse_transform"), "votes": _method("votes"),
    "claims": _method("claims"), "ellipse": lambda model, original: model.ellipse("no"),
    "boundary": lambda model, original: model.boundary("no", "yes"),
    "covariance_of": lambda model, original: model.covariance_of(),
}  # fmt: skip
FUNCTIONS: dict[str, Callable[[Any, Original], Any]] = {
    "attributes": _attributes, "saved again": _saved_again, "info": _info,
    "explain": lambda model, original: str(verosim.explain(model, original.rows)),
    "effect": _effect,
    "decide": lambda model, original: verosim.decide(
        model, original.rows, np.ones((original.classes,) * 2)
    ),
}  # fmt: skip
SLOW: dict[str, Callable[[Any, Original], Any]] = {
    "diagnose": lambda model, original: str(verosim.diagnose(model)),
    "report": _report,
    "nomogram": lambda model, original: verosim.nomogram(model),
    "importance": lambda model, original: str(verosim.importance(model)),
    "scorecard": lambda model, original: str(verosim.scorecard(model)),
    "counterfactual": lambda model, original: str(
        verosim.counterfactual(model, _one_row(original))
    ),
    "what_if": lambda model, original: str(verosim.what_if(model, _one_row(original))),
    "drift": lambda model, original: str(verosim.drift(model, verosim.loads(original.data))),
}
CALLED = {"predictions": _predictions, **METHODS, **FUNCTIONS, **SLOW}
