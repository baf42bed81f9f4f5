"""One case: draw it by its number, run the model, and compare it with the truth."""

from __future__ import annotations

import math
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import verosim
from tests.fuzz.exact import ROUNDING, log_posterior, use_many_digits
from tests.fuzz.families import FAMILIES as FIRST
from tests.fuzz.families import Family
from tests.fuzz.lives import Draw, Ledger, live, odd_labels, relabel
from tests.fuzz.more_families import MORE, OTHERS
from tests.fuzz.oracles import Truth
from tests.fuzz.refusals import known_refusal
from tests.fuzz.units import check_units
from tests.fuzz.whole_numbers import at_the_edge, is_held

LONGEST = 60  # seconds after which a case hangs
PEER_STEP = 3  # one of so many cases is also compared with scikit-learn
UNITS_STEP = 3  # one of so many Gaussian cases is also tried with tiny classes and other units
RELABELLED = 0.4  # the share of cases whose labels are dates, bytes, large integers and others
GAUSSIANS = ("GaussianNB", "NaiveLDA", "LDA", "QDA", "RDA", "robust", "estimated shrinkage")
# LDA and QDA of scikit-learn lose digits that verosim and 50 digits have, so only easy cases.
WELL_CONDITIONED = 1e-11
READS_VALUES = ("CategoricalNB", "LiftedLDA")  # they can read any value of an array as a category
SHARP = 1e-6  # comparisons with a smaller allowed difference are counted as sharp

FAMILIES = FIRST | MORE | OTHERS
# Every family as often as it says, in a mixed order.
TURNS = [
    (turn / family.share, name) for name, family in FAMILIES.items() for turn in range(family.share)
]
NAMES = [name for _, name in sorted(TURNS)]


@dataclass
class Result:
    """The outcome of one case: "agrees", "finite" (nothing to compare), "refused" or "wrong"."""

    number: int
    name: str
    outcome: str
    detail: str = ""
    compared: int = 0  # rows that were compared with the truth
    sharp: int = 0
    peer: int = 0  # rows that were compared with scikit-learn


@dataclass
class Case:
    number: int
    name: str
    family: Family
    settings: dict[str, Any]
    draw: Draw
    rnd: Random
    ledger: Ledger = field(default_factory=Ledger)

    @classmethod
    def of(cls, number: int) -> Case:
        rnd = Random(number)
        name = NAMES[number % len(NAMES)]
        family = FAMILIES[name]
        draw = at_the_edge(number, family.draw(rnd))
        if (others := Random(f"labels of {number}")).random() < RELABELLED:
            relabel(others, draw)
        both = family.settings.__code__.co_argcount == 2
        settings = family.settings(rnd, draw) if both else family.settings(rnd)
        return cls(number, name, family, settings, draw, rnd)

    def make(self) -> Any:
        return self.family.make(**self.settings)

    def shown(self) -> str:
        """All data of the case, to be read by people."""
        rows = [(row.cells, row.label, row.given) for row in self.draw.rows]
        return (
            f"case {self.number}: {self.name}({self.settings})\nlife: {self.ledger.story}\n"
            f"rows (cells, label, weight), weighted={self.draw.weighted}:\n  "
            + "\n  ".join(map(repr, rows))
            + "\nprobes:\n  "
            + "\n  ".join(map(repr, self.draw.probes))
        )


class Wrong(AssertionError):
    """A disagreement."""


class Hang(BaseException):
    """A case took too long."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `Hang` in the main thread after some seconds, where timers exist."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise Hang

    known = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, known)


def run(number: int) -> Result:
    """Run one case."""
    return run_case(Case.of(number))


def run_case(case: Case) -> Result:
    number = case.number
    try:
        with time_limit(LONGEST), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            return checked(case, caught)
    except verosim.VerosimError as error:
        why = known_refusal(str(error), case)
        if not why and case.family.oracle is None:
            why = "other"
        if why:
            return Result(number, case.name, "refused", why)
        return Result(number, case.name, "wrong", f"refused without a known cause: {error}")
    except Wrong as error:
        return Result(number, case.name, "wrong", str(error))
    except Hang:
        return Result(number, case.name, "wrong", f"hang: more than {LONGEST} s")
    except Exception:
        return Result(number, case.name, "wrong", f"foreign error:\n{traceback.format_exc()}")


def checked(case: Case, caught: list[warnings.WarningMessage]) -> Result:
    use_many_digits()
    draw, ledger = case.draw, case.ledger
    model = live(case.rnd, case.make, draw, case.family.updates, ledger)
    odd = odd_labels(ledger.rows)
    if odd and not (odd == "missing" and case.name == "SemiSupervised"):
        raise Wrong(f"{odd} labels were accepted: {model.classes_.tolist()}")
    probes = draw.wrap(draw.probes)
    labels = np.asarray(model.predict(probes)).tolist()
    lost = [cell for cells in draw.probes for cell in cells if not is_held(cell)]
    if lost and case.name not in READS_VALUES:
        raise Wrong(f"{lost[0]} was not refused, although a double does not hold it")
    if not hasattr(model, "predict_log_proba"):
        scores = np.asarray(model.decision_function(probes))
        found = logs = None
        if not np.isfinite(scores).all():
            raise Wrong(f"not finite: {scores.tolist()}")
    else:
        found = np.asarray(model.predict_proba(probes))
        logs = np.asarray(model.predict_log_proba(probes))
    for one in caught:
        if not issubclass(one.category, verosim.VerosimWarning):
            raise Wrong(f"foreign warning: {one.category.__name__}: {one.message}")
    classes = model.classes_.tolist()
    check_form(case, classes, found, logs, labels)
    result = Result(case.number, case.name, "finite")
    if case.name in GAUSSIANS and case.number % UNITS_STEP == 0:
        compare_units(case)
    if case.family.oracle is None or found is None or logs is None:
        return result
    d = len(draw.probes[0])
    truth = Truth.of(ledger, classes)
    joint = case.family.oracle(model, truth, case.settings, d)
    prior, prior_errors = truth.log_priors(case.settings.get("priors", case.family.priors))
    true: list[list[float]] = []
    for i, cells in enumerate(draw.probes):
        scores, errors = joint(cells)
        total = [
            None if s is None or p is None else s + p for s, p in zip(scores, prior, strict=True)
        ]
        allowed = 2 * max(e + p for e, p in zip(errors, prior_errors, strict=True))
        if not math.isfinite(allowed) or allowed > 1:
            continue
        if all(score is None for score in total):
            total = prior  # a row that is impossible in every class
        compare(case, i, classes, log_posterior(total), allowed, found[i], logs[i], labels[i])
        result.compared += 1
        result.sharp += allowed < SHARP
        result.outcome = "agrees"
        if allowed < (WELL_CONDITIONED if case.name in ("LDA", "QDA") else SHARP):
            true.append(log_posterior(total))
    if case.number % PEER_STEP == 0:
        result.peer = compare_with_peer(case, len(true) == len(draw.probes), classes, found)
    return result


def compare_units(case: Case) -> None:
    """Tiny classes with the settings of the case, in several units."""
    by_column = not case.settings.get("shrinkage")
    sizes = (6, 20) if case.name == "robust" else (1, 3)
    try:
        check_units(case.make, by_column, case.number, *sizes)
    except AssertionError as error:
        raise Wrong(f"units or row order change a tiny table: {error}") from error


def compare_with_peer(case: Case, sharp: bool, classes: list[Any], found: np.ndarray) -> int:
    """Compare with scikit-learn, where it has this model and the case is easy for it."""
    peer = case.family.peer and case.family.peer(case.settings)
    if peer is None:
        return 0
    rows = case.ledger.rows
    cells = [cell for row in rows for cell in row.cells] + [c for p in case.draw.probes for c in p]
    easy = all(c is not None and abs(c) < 1e6 for c in cells)
    weights = [row.given for row in rows]
    easy = easy and sharp and max(weights) <= 1e6 * min(weights) and 1e-6 < max(weights) < 1e6
    plain = not case.ledger.forgot and case.ledger.factor == 1 and len(classes) > 1
    if not easy or not plain or "priors" in case.settings or case.draw.labels is not np.array:
        return 0
    X = np.array([row.cells for row in rows], dtype=float)
    y = [row.label for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case.name in ("LDA", "QDA"):
                if set(weights) != {1.0}:
                    return 0
                peer.fit(X, y)
            else:
                peer.fit(X, y, sample_weight=weights)
            theirs = peer.predict_proba(np.array(case.draw.probes, dtype=float))
        except (ValueError, np.linalg.LinAlgError):
            return 0  # scikit-learn refuses it
    if not np.isfinite(theirs).all():
        return 0
    if peer.classes_.tolist() != classes or not np.allclose(theirs, found, rtol=1e-5, atol=1e-7):
        raise Wrong(f"scikit-learn has {theirs.tolist()}, verosim and exact {found.tolist()}")
    return len(found)


def check_form(
    case: Case,
    classes: list[Any],
    found: np.ndarray | None,
    logs: np.ndarray | None,
    labels: list[Any],
) -> None:
    """Posteriors are finite and have the sum 1, and the labels are labels that were given."""
    if found is not None and logs is not None:
        check_posteriors(found, logs)
    known = {row.label for row in case.ledger.rows}
    if not set(labels) <= known or not set(classes) <= {row.label for row in case.draw.rows}:
        raise Wrong(f"labels {labels}, classes {classes}, known {known}")
    if any(type(label) is not type(next(iter(known))) for label in labels):
        raise Wrong(f"labels of another type: {labels}")


def check_posteriors(found: np.ndarray, logs: np.ndarray) -> None:
    if not np.isfinite(found).all() or np.isnan(logs).any():
        raise Wrong(f"not finite: {found.tolist()}, logs {logs.tolist()}")
    if (found < 0).any() or not np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-9):
        raise Wrong(f"not normalised: {found.tolist()}")
    if not np.allclose(np.exp(logs).sum(axis=1), 1.0, rtol=0, atol=1e-9):
        raise Wrong(f"log posteriors are not normalised: {logs.tolist()}")


def compare(
    case: Case, i: int, classes: list[Any], expected: list[float], allowed: float,
    found: np.ndarray, logs: np.ndarray, label: Any,
) -> None:  # fmt: skip
    story = f"probe {i}, classes {classes}, allowed {allowed:.2g}"
    for k, true in enumerate(expected):
        p, one = float(found[k]), float(logs[k])
        if true == -math.inf:
            bad = p > 0 or one > -600
        else:
            room = allowed + 8 * ROUNDING * (1 + abs(true))
            bad = abs(one - true) > room
            bad = bad or abs(p - math.exp(true)) > math.exp(true) * math.expm1(room) + 1e-300
        if bad:
            raise Wrong(f"{story}: log p = {logs.tolist()}, p = {found.tolist()}; exact {expected}")
    best = max(expected)
    if expected[classes.index(label)] < best - 2 * allowed - 1e-12:
        raise Wrong(f"{story}: predicted {label!r}; exact {expected}")


def run_many(first: int, last: int) -> tuple[Counter[str], list[Result]]:
    """Run the cases first … last − 1: counts by name and outcome, and the wrong ones."""
    counts: Counter[str] = Counter()
    wrong = []
    for number in range(first, last):
        result = run(number)
        counts[result.outcome] += 1
        counts[f"{result.name} {result.outcome}"] += 1
        counts["compared"] += result.compared
        counts["sharp"] += result.sharp
        counts["peer"] += result.peer
        if result.outcome == "refused":
            counts[f"refused: {result.detail}"] += 1
        if result.outcome == "wrong":
            wrong.append(result)
    return counts, wrong
