"""Models compared by their learning curves, on the same rows: generative against discriminative.

    value(model, m, r) = metric of the model fitted on the first m rows of draw r, on its test rows

Of two models of one family, the generative one reaches its asymptote with fewer rows and the
discriminative one has the lower asymptote, so the curves may cross.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of
logistic regression and naive Bayes, NIPS 14.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock
from typing import Any

import joblib
import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone

from verosim import engines
from verosim.engines.progress import Progress
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.twins.comparison.curves import Comparison, Failure, in_order
from verosim.twins.comparison.metrics import Metric, metric_of
from verosim.twins.comparison.models import (
    check_needs,
    described,
    named_models,
    pairs_of,
    seeded,
)
from verosim.twins.comparison.resampling import (
    Pool,
    in_rows,
    ladder,
    number_of_test_rows,
    pool_of,
    rows_of,
)
from verosim.twins.comparison.resuming import carried_over, earlier, seed_of

Cell = tuple[int, int]  # model, size
Found = dict[Cell, float | str]  # its value, or why there is none


def compare(
    models: Any,
    X: Any,
    y: Any = None,
    sizes: Any = None,
    repeats: int = 20,
    scoring: Any = "error",
    *,
    pairs: Any = None,
    test_size: float | int = 0.25,
    random_state: Any = 0,
    threads: int | None = None,
    resume: Any = None,
    path: Any = None,
) -> Comparison:
    """Learning curves of several classifiers on the same draws, and where they cross.

    value(model, m, r) = metric of the model fitted on the first m rows of draw r, on its test rows

    Every repeat puts the rows in a random order, stratified by class: the last are for testing and
    stay the same for all models and sizes, and training sets are beginnings of the rest, so that
    larger ones hold the smaller ones. Each class that has rows to learn from has one in every
    training set of as many rows as there are classes.

    Parameters
    ----------
    models : dict of classifiers by name, or a list, named by class. Anything with scikit-learn's
        `fit` and `predict`: verosim's models, pipelines, nearest neighbours, kernel machines. They
        are cloned, and those with an open `random_state` are given one
    X, y : rows and labels: an array, a data frame, sparse rows, a list of texts; or any table and
        the name of its target. Rows are drawn from memory, in the form they come in
    sizes : numbers of training rows, or shares of those not held for testing; None for ten steps
        of equal ratio up to all of them
    repeats : how many draws. More of them later begin with the same ones
    scoring : "error", "log_loss" or "brier" (lower is better), which are 1 − accuracy and
        scikit-learn's neg_log_loss and neg_brier_score without the sign; or, as in
        :func:`cross_validate`, the name of a scoring of scikit-learn or a scorer (higher is better)
    pairs : (generative, discriminative) names to look for crossings of. None for every generative
        model, of verosim's or scikit-learn's, against every other that is not
    test_size : share or number of rows held for testing in every repeat
    random_state : seed of the draws. None takes a new one, kept in the result
    threads : how many repeats to work on at a time; None for `verosim.threads()`. The values do not
        depend on it
    resume : an earlier Comparison or its file, to go on with: what it knows of the same rows,
        draws and models is not computed again. The result is that of one run
    path : file to save to after every repeat; None for the file of `resume`, if it is one

    Returns
    -------
    Comparison with `values` by model, size and repeat, `mean`, `standard_error`, `differences`,
    `crossings`, `failures`, `table()`, `plot()` and `save(path)`. A model that cannot be fitted to
    a draw has nan there, and the reason is in `failures`. Interrupted (Ctrl-C), what is known so
    far is returned, its `complete` False.

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes, NIPS 14.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from verosim import GaussianNB
    >>> from verosim.twins.whiten import Whiten
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> neighbours = make_pipeline(Whiten(shrinkage=0.1), KNeighborsClassifier())
    >>> models = {"naive Bayes": GaussianNB(), "neighbours": neighbours}
    >>> compare(models, X, y, sizes=[15, 60, 240], repeats=10)
    error (lower is better), 10 repeats, 142 test rows
    rows      naive Bayes       neighbours
      15  0.0866 ± 0.0095  0.1514 ± 0.0111
      60  0.0754 ± 0.0115  0.0958 ± 0.0083
     240  0.0725 ± 0.0077  0.0655 ± 0.0048
    naive Bayes / neighbours: neighbours stays ahead from 168 rows on (95 % above 54)
    """
    named = named_models(models)
    metric = metric_of(scoring)
    check_needs(named, metric)
    rows = pool_of(X, y)
    repeats = _whole_number("repeats", repeats)
    t = number_of_test_rows(test_size, len(rows))
    asked = Comparison(
        models={name: described(model) for name, model in named.items()},
        sizes=(steps := ladder(sizes, len(rows) - t, len(rows.classes))),
        values=np.full((len(named), len(steps), repeats), np.nan),
        scoring=metric.name,
        lower_is_better=metric.lower_is_better,
        pairs=pairs_of(pairs, named),
        failures=(),
        rows=len(rows),
        test_rows=t,
        seed=seed_of(random_state, resume),
        fingerprint=joblib.hash((in_rows(rows.X), rows.y)),
    )
    known, path = earlier(resume, path)
    if known is not None:
        asked = carried_over(known, asked, path)
    count = engines.threads() if threads is None else _whole_number("threads", threads)
    remaining = RemainingRepeats(rows, named, metric, asked)
    with _few_warnings():
        found = remaining.run(count, path)
    if path is not None:
        found.save(path)
    _report(found)
    return found


@dataclass
class RemainingRepeats:
    """The repeats that are left to do, and how each is done."""

    rows: Pool
    models: dict[str, Any]
    metric: Metric
    known: Comparison

    def run(self, workers: int, path: Path | None) -> Comparison:
        """Repeats over a thread pool; an interrupt leaves those that are whole."""
        todo = np.flatnonzero(~self.known.whole).tolist()
        total = int(self.known.missing.sum())
        stop, lock = Event(), Lock()
        config = get_config()  # scikit-learn's settings are each thread's own

        def work(repeat: int) -> Found | None:
            found: Found = {}
            with config_context(**config), engines.use_threads(1), engines.one_blas_thread:
                for cell, value in self.values(repeat):
                    found[cell] = value
                    with lock:
                        bar.advance(1)
                    if stop.is_set():
                        return None
            return found

        result = self.known
        pool = ThreadPoolExecutor(min(workers, max(len(todo), 1)), "verosim-compare")
        futures: dict[Future[Found | None], int] = {}
        with Progress(total, "fits") as bar, pool:
            try:
                if workers == 1 or len(todo) < 2:
                    for repeat in todo:
                        result = _with(result, repeat, work(repeat), path)
                    return result
                futures = {pool.submit(copy_context().run, work, r): r for r in todo}
                for future in as_completed(futures):
                    result = _with(result, futures[future], future.result(), path)
            except KeyboardInterrupt:
                stop.set()
            except BaseException:
                stop.set()
                raise
            finally:
                for future in futures:
                    future.cancel()
        return result

    def values(self, repeat: int) -> Iterator[tuple[Cell, float | str]]:
        """What every model not yet tried in this repeat scores at each size, or why it does not."""
        seed = np.random.SeedSequence(self.known.seed, spawn_key=(repeat,))
        for_rows, for_models = seed.spawn(2)
        state = int(for_models.generate_state(1)[0])
        order = self.rows.order(for_rows)
        left = self.known.missing[:, :, repeat]
        train, test = order[: self.known.sizes[-1]], order[len(order) - self.known.test_rows :]
        X, y = rows_of(self.rows.X, train), self.rows.y[train]
        X_test, y_test = rows_of(self.rows.X, test), self.rows.y[test]
        for s, size in enumerate(self.known.sizes.tolist()):
            some = rows_of(X, slice(0, size))
            for m, model in enumerate(self.models.values()):
                if left[m, s]:
                    value: float | str
                    try:
                        fitted = seeded(clone(model), state).fit(some, y[:size])
                        value = self.metric.value(fitted, X_test, y_test, self.rows.classes)
                        value = value if np.isfinite(value) else f"The metric is {value}."
                    except Exception as error:
                        value = f"{type(error).__name__}: {error}"
                    yield (m, s), value


def _with(known: Comparison, repeat: int, found: Found | None, path: Path | None) -> Comparison:
    """A comparison that knows one repeat more."""
    if found is None:
        return known
    values, failures = known.values.copy(), list(known.failures)
    for (m, s), value in found.items():
        if isinstance(value, str):
            failures.append(Failure(known.names[m], int(known.sizes[s]), repeat, value))
        else:
            values[m, s, repeat] = value
    result = replace(known, values=values, failures=in_order(failures, known.names))
    if path is not None:
        result.save(path)
    return result


def _whole_number(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise VerosimError(f"{name}={value!r}: a whole number from 1 on is needed.")
    return int(value)


@contextmanager
def _few_warnings() -> Iterator[None]:
    """Of what hundreds of fits would warn about, one of each kind."""
    with warnings.catch_warnings(record=True) as caught:
        yield
    kinds: dict[type[Warning], list[str]] = {}
    for warning in caught:
        kinds.setdefault(warning.category, []).append(str(warning.message))
    for kind, messages in kinds.items():
        more = f" (and {len(messages) - 1} more such warnings)" if len(messages) > 1 else ""
        warn(f"{messages[0]}{more}", kind)


def _report(found: Comparison) -> None:
    """What a user should know who looks at the means alone."""
    if not found.complete:
        warn(
            f"Interrupted: {found.repeats} of {found.asked} repeats are whole. "
            "compare(…, resume=result) goes on.",
            VerosimWarning,
        )
    if not found.failures:
        return
    tried = found.values.size - int(found.missing.sum())
    first = found.failures[0]
    warn(
        f"{len(found.failures)} of {tried} fits failed. The first: {first.model!r} on {first.size} "
        f"rows of repeat {first.repeat}: {first.reason} `failures` lists all.",
        VerosimWarning,
    )
