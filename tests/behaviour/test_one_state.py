"""A model is the one before an update or the one after, with threads and with interrupts."""

from __future__ import annotations

import copy
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import verosim
from tests.fuzz.journal import note
from verosim import LeastSquares, LogisticRegression, OneVsOne, OneVsRest, Perceptron, Twin

pytestmark = pytest.mark.filterwarnings("ignore::verosim.VerosimWarning")

RNG = np.random.default_rng(7)


def _rows(labels: list[Any], n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Rows of well separated classes. The first label is at 0, the next at 10, and so on."""
    y = np.repeat(np.array(labels), n)
    centres = np.repeat(10.0 * np.arange(len(labels)), n)
    return centres[:, None] + RNG.normal(size=(len(y), 2)), y


TWO, FOUR = _rows(["m", "n"]), _rows(["z", "y", "x", "a"])
PROBE = np.array([[0.0, 0.0], [10.0, 10.0]])

READERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "predict": (verosim.GaussianNB(), lambda m: m.predict(PROBE)),
    "score": (verosim.QDA(), lambda m: m.score(PROBE, ["m", "a"])),
    "transform": (verosim.LDA(), lambda m: m.transform(PROBE)),
    "table": (verosim.NaiveBayes(), lambda m: m.predict_table(PROBE).read_all().to_pylist()),
    "sample": (verosim.LDA(), lambda m: m.sample(3, random_state=0)[1]),
    "least squares": (LeastSquares(), lambda m: m.predict(PROBE)),
    "calibrated": (verosim.Calibrated(verosim.GaussianNB(), cv=2), lambda m: m.predict(PROBE)),
    "reject": (verosim.Reject(verosim.GaussianNB(), cv=2), lambda m: m.predict(PROBE)),
    "conformal": (
        verosim.Conformal(verosim.GaussianNB()), lambda m: m.predict_set(PROBE, labels=True)
    ),
    "semi": (verosim.SemiSupervised(verosim.GaussianNB()), lambda m: m.predict(PROBE)),
    "perceptron": (Perceptron(random_state=0), lambda m: m.predict(PROBE)),
    "logistic": (LogisticRegression(), lambda m: m.predict(PROBE)),
    "twin": (Twin(verosim.LDA(shrinkage=0.5)), lambda m: m.predict(PROBE)),
    "rest": (OneVsRest(LeastSquares()), lambda m: m.claims(PROBE)),
    "pairs": (OneVsOne(LeastSquares()), lambda m: m.predict(PROBE)),
}  # fmt: skip


def _shown(value: Any) -> str:
    return repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value)


def _beside(update: Callable[[int], Any], read: Callable[[], Any], seconds: float) -> list[Any]:
    """Everything that two threads read while another one updates."""
    found: list[Any] = []
    stop = threading.Event()

    def reader() -> None:
        try:
            while not stop.is_set():
                found.append(read())
                if len(found) > 100_000:
                    found[:] = list({_shown(one): one for one in found}.values())
        except Exception as error:
            found.append(error)

    readers = [threading.Thread(target=reader) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in readers:
            thread.start()
        end, step = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            update(step)
            step += 1
    finally:
        stop.set()
        for thread in readers:
            thread.join()
        sys.setswitchinterval(interval)
    return found


SECONDS = [0.15, pytest.param(5, marks=pytest.mark.soak)]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("case", READERS)
def test_readers_beside_a_fit_see_one_model(case, seconds):
    model, read = READERS[case]
    model = clone(model)
    expected = {_shown(read(clone(model).fit(*rows))) for rows in (TWO, FOUR)}
    model.fit(*TWO)
    found = _beside(lambda step: model.fit(*(TWO, FOUR)[step % 2]), lambda: read(model), seconds)
    assert {_shown(one) for one in found} <= expected


@pytest.mark.parametrize("seconds", [0.5, pytest.param(60, marks=pytest.mark.soak)])
def test_predictions_beside_updates_have_the_right_labels(seconds):
    X, y = TWO
    start = verosim.GaussianNB().fit(X, y)
    model = pickle.loads(pickle.dumps(start))
    far = np.full((1, 2), 1e3) + np.array([[0.0], [1.0]])
    other = verosim.GaussianNB().fit(far, ["0", "0"])  # sorted before the classes of the rows

    def update(step: int) -> None:
        turn = step % 20
        if turn == 0:
            model.set_state(start.state_)
        elif turn == 17:
            model.set_state(model.merge(other).state_)
        elif turn == 18:
            model.set_params(priors="uniform" if step % 40 < 20 else None)
        elif turn == 19:
            model.forget(far, ["a1"] * 2)
        else:
            model.partial_fit(far, [f"a{turn}"] * 2)

    read = Counter()

    def predicted() -> Any:
        found = model.predict(PROBE)
        read[_shown(found)] += 1
        return found

    found = _beside(update, predicted, seconds)
    assert {_shown(one) for one in found} == {"['m', 'n']"}
    if seconds >= 60:
        note("predictions beside updates in other threads", count=read.total())


def test_the_model_inside_a_wrapper_can_be_updated_beside_predictions():
    model = verosim.Calibrated(verosim.GaussianNB(), cv=2).fit(*TWO)
    start = model.model_.state_
    far = np.full((2, 2), 1e3) + np.array([[0.0], [1.0]])

    def update(step: int) -> None:
        if step % 5 == 0:
            model.model_.set_state(start)
        model.model_.partial_fit(far, [f"a{step % 5}"] * 2)

    found = _beside(update, lambda: model.predict(PROBE), 0.2)
    assert {_shown(one) for one in found} == {"['m', 'n']"}


# Updates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [verosim.GaussianNB(), verosim.Pool([verosim.GaussianNB(), verosim.LDA()])],
    ids=["GaussianNB", "Pool"],
)
def test_no_update_of_another_thread_is_lost(model):
    X, y = TWO
    model = clone(model).fit(X, y)
    errors: list[Exception] = []

    def work(thread: int) -> None:
        try:
            for step in range(12):
                model.partial_fit(X[:6], y[:6])
                model.partial_fit(X[-4:], y[-4:])
                model.forget(X[:3], y[:3])
                if thread == 0:
                    model.set_params(priors="uniform" if step % 2 else None)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert model.class_count_.tolist() == [40 + 4 * 12 * 3, 40 + 4 * 12 * 4]
    np.testing.assert_allclose(model.class_prior_, 0.5)  # the last set_params is not lost


def test_a_model_that_its_own_rows_update_is_refused():
    X, y = TWO
    model = verosim.NaiveBayes().fit({"x": X[:, 0], "y": y}, "y")

    def tables() -> Any:
        yield {"x": X[:, 0], "y": y}
        model.partial_fit({"x": X[:, 0], "y": y}, "y")
        yield {"x": X[:, 0], "y": y}

    with pytest.raises(verosim.VerosimError, match="was updated by the rows that it was reading"):
        model.partial_fit(tables(), "y")
    assert model.class_count_.sum() == 2 * len(y)  # the inner update stays


def test_a_copy_or_pickle_made_during_an_update_works_on():
    X, y = TWO
    model = verosim.NaiveBayes().fit({"x": X[:, 0], "y": y}, "y")
    made: list[Any] = []

    def tables() -> Any:
        made.extend([copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))])
        made.append(clone(model).fit({"x": X[:, 0], "y": y}, "y"))
        yield {"x": X[:, 0], "y": y}

    model.partial_fit(tables(), "y")
    for other in made:
        assert other.partial_fit({"x": X[:, 0], "y": y}, "y").class_count_.sum() == 2 * len(y)


# Interrupts ------------------------------------------------------------------------------------

TEXTS = [f"word{i % 7} other{i % 3} {'spam' if i % 2 else 'ham'}" for i in range(40)]
TABLE = {"x": TWO[0][:, 0], "k": ["u", "v"] * 40, "y": TWO[1]}
MORE = {"x": [5.0, 6.0], "k": ["w", "w"], "y": ["m", "new"]}

UPDATES: dict[str, tuple[Any, tuple[Any, ...], Callable[[Any], Any]]] = {
    "fit": (verosim.GaussianNB(), TWO, lambda m: m.fit(*FOUR)),
    "partial_fit": (verosim.NaiveBayes(), (TABLE, "y"), lambda m: m.partial_fit(MORE, "y")),
    "forget": (verosim.LDA(), TWO, lambda m: m.forget(TWO[0][::3], TWO[1][::3])),
    "decay": (verosim.QDA(), TWO, lambda m: m.decay(0.5)),
    "prune": (verosim.TextNB(), (TEXTS, [0, 1] * 20), lambda m: m.prune(7)),
    "set_params": (
        verosim.LDA(), TWO,
        lambda m: m.set_params(shrinkage=0.5, priors="uniform", covariance="unbiased"),
    ),
    "merge": (verosim.GaussianNB(), TWO, lambda m: m.merge(m)),
    "cross_validate": (
        verosim.GaussianNB(), TWO, lambda m: verosim.cross_validate(m, *TWO, cv=3)
    ),
    "calibrated": (verosim.Calibrated(verosim.GaussianNB(), cv=2), TWO, lambda m: m.fit(*FOUR)),
    "nested": (
        verosim.Calibrated(verosim.LDA(), cv=2), TWO,
        lambda m: m.set_params(cv=3, model__priors="uniform"),
    ),
    "perceptron": (Perceptron(), FOUR, lambda m: m.partial_fit(*FOUR)),
    "logistic": (LogisticRegression(solver="sgd"), TWO, lambda m: m.partial_fit(*TWO)),
}  # fmt: skip


def _seen(model: Any, rows: Any) -> tuple[Any, ...]:
    """All of a model that a user can see: parameters, predictions and sums."""
    X = rows[0]
    values = model.decision_function(X) if isinstance(model, Perceptron) else model.predict_proba(X)
    inner = getattr(model, "model_", model)
    return (
        repr(sorted(model.get_params().items(), key=lambda item: item[0])),
        values.tobytes(),
        inner.class_count_.tobytes() if hasattr(inner, "class_count_") else b"",
        model.predict(X).tolist(),
    )


def _started(case: str) -> tuple[Any, Any, Callable[[Any], Any]]:
    model, rows, update = UPDATES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(*rows), rows, update


@pytest.mark.parametrize("case", UPDATES)
@pytest.mark.parametrize("interrupts", [5, pytest.param(110, marks=pytest.mark.soak)])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_after_an_interrupt_the_model_is_the_one_before_or_after(case, interrupts):
    fitted, rows, update = _started(case)
    before = _seen(fitted, rows)
    duration = np.inf  # of the fastest run: the first one loads what it needs
    for _ in range(3):
        done = copy.deepcopy(fitted)
        started = time.perf_counter()
        update(done)
        duration = min(duration, time.perf_counter() - started)
    after = _seen(done, rows)
    rng, raised = np.random.default_rng(1), 0

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    known = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(20 * interrupts):
            if raised == interrupts:
                break
            model = copy.deepcopy(fitted)
            delay = max(rng.uniform(0, 1.1 * duration), 1e-6)
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                update(model)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0)
                raised += 1
            assert _seen(model, rows) in (before, after)
            other = threading.Thread(target=model.set_params, daemon=True)
            other.start()
            other.join(20)
            assert not other.is_alive()  # no lock is left behind
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, known)
    if interrupts > 100:
        note("interrupts at random moments of updates", count=raised)


class _InterruptAt:
    """Raises KeyboardInterrupt at the n-th call of a function of verosim or scikit-learn."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        if event == "call" and ("verosim" in frame.f_code.co_filename):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


@pytest.mark.parametrize("case", ["set_params", "decay", "nested"])
def test_an_interrupt_at_any_call_changes_all_or_nothing(case):
    fitted, rows, update = _started(case)
    before = _seen(fitted, rows)
    done = copy.deepcopy(fitted)
    update(done)
    after = _seen(done, rows)
    for n in range(1, 1000):
        model = copy.deepcopy(fitted)
        trace = _InterruptAt(n)
        outside = sys.gettrace()
        try:
            sys.settrace(trace)
            update(model)
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(outside)
        assert _seen(model, rows) in (before, after)
    assert trace.left > 0
    assert n > 5
    assert _seen(model, rows) == after


def test_refused_parameters_change_nothing():
    inner = verosim.LDA()
    model = verosim.Calibrated(inner, cv=2)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(cv=5, model__priors="uniform", model__wrong=1)
    assert (model.cv, inner.priors) == (2, None)
    model.set_params(cv=5, model__priors="uniform")
    assert (model.cv, inner.priors, model.model is inner) == (5, "uniform", True)
