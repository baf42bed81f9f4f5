"""Comparison of models by their learning curves on the same rows.

    value(model, m, r) = score on the test rows of repeat r, fitted on its first m training rows

Of two models of the same form, the generative one reaches its limit with fewer rows, and the
discriminative one has the lower limit of the error. So the curves may cross.
Reference: Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of
logistic regression and naive Bayes, NIPS 14.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone

from verosim import engines
from verosim.arguments import checked
from verosim.data.clusters import check_is_here
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
    RowsToCompare,
    in_rows,
    number_of_test_rows,
    pool_of,
    rows_of,
    training_sizes,
)
from verosim.twins.comparison.resuming import carried_over, earlier, seed_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.typing import Labels, RandomState, Source

Cell = tuple[int, int]  # model, size
Found = dict[Cell, float | str]  # the value, or the reason why there is none


@checked
def compare(
    models: Mapping[str, BaseEstimator] | Iterable[BaseEstimator] | BaseEstimator,
    X: Source,
    y: Labels | None = None,
    sizes: ArrayLike | None = None,
    repeats: int = 20,
    scoring: str | Callable[..., float] = "error",
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    test_size: float | int = 0.25,
    random_state: RandomState = 0,
    threads: int | None = None,
    resume: Comparison | str | os.PathLike[str] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Learning curves of several classifiers on the same rows, and where the curves cross.

    Use it to see which model is better with few rows and which with many rows. The result has one
    value for each model, training size m and repeat r:

        value(model, m, r) = score on the test rows of repeat r, fitted on its first m training rows

    Each repeat puts the rows in a random order, stratified by class. The last rows are the test
    rows, which are the same for all models and sizes. The training set of size m is the first m
    rows, so larger training sets contain the smaller ones. Each class has at least one row in a
    training set with at least as many rows as there are classes.

    Ctrl-C stops the comparison. It then returns the repeats that are complete, and `complete` of
    the result is False.

    Parameters
    ----------
    models : dict of str to classifier, list of classifiers, or classifier
        The models: any classifiers with the `fit` and `predict` of scikit-learn, including
        pipelines. Models in a list get the names of their Python classes. The models are cloned. If
        `random_state` of a model is not an integer, it is set for each repeat.
    X : array-like, data frame, sparse matrix, list of str or table
        The rows, or a table that contains the target column. The rows are read into memory.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of X.
    sizes : array-like or None, default=None
        The numbers of training rows, or shares of the rows that are not test rows. None uses up to
        ten sizes with equal ratios, up to all of these rows.
    repeats : int, default=20
        The number of repeats. The first repeats are the same for any number of repeats.
    scoring : str or callable, default="error"
        The score. For "error" (1 − accuracy), "log_loss" and "brier", lower is better. For the name
        of a scikit-learn scoring or for a scorer, higher is better.
    pairs : iterable of (str, str) or None, default=None
        Pairs of names (generative, discriminative) for which to find crossings. None uses all pairs
        of a generative model and another model.
    test_size : float or int, default=0.25
        The share or the number of rows that are test rows in each repeat.
    random_state : int, Generator, RandomState or None, default=0
        The seed of the repeats. None uses a new seed, which the result stores as `seed`.
    threads : int or None, default=None
        The number of repeats that run in parallel. None means `verosim.threads()`. The values do
        not depend on it.
    resume : Comparison, str, path or None, default=None
        An earlier comparison or its file. Its values for the same rows, repeats and models are not
        computed again. The result is the same as for one complete run.
    path : str, path or None, default=None
        A file to save the result to after each repeat. None means the file of `resume`, if `resume`
        is a file, and no file otherwise.

    Returns
    -------
    Comparison
        The values by model, size and repeat, with `mean`, `standard_error`, `differences`,
        `crossings`, `failures`, `table()`, `plot()` and `save(path)`. If a fit fails, its value is
        nan, and `failures` contains the reason.

    Raises
    ------
    VerosimError
        If an argument is not valid, or if the comparison to resume has other rows or settings.

    References
    ----------
    Ng & Jordan (2002), On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes, NIPS 14.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from verosim import GaussianNB, Whiten, compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> neighbours = make_pipeline(Whiten(shrinkage=0.1), KNeighborsClassifier())
    >>> models = {"naive Bayes": GaussianNB(), "neighbours": neighbours}
    >>> compare(models, X, y, sizes=[15, 60, 240], repeats=10)
    error (lower is better), 10 repeats, 142 test rows
    rows      naive Bayes       neighbours
      15  0.0866 ± 0.0095  0.1514 ± 0.0111
      60  0.0754 ± 0.0115  0.0958 ± 0.0083
     240  0.0725 ± 0.0077  0.0655 ± 0.0048
    naive Bayes / neighbours: neighbours is better from 168 rows on (95 % interval: above 54)
    """
    check_is_here(X, "The function compare")
    named = named_models(models)
    metric = metric_of(scoring)
    check_needs(named, metric)
    rows = pool_of(X, y)
    repeats = _whole_number("repeats", repeats)
    t = number_of_test_rows(test_size, len(rows))
    asked = Comparison(
        models={name: described(model) for name, model in named.items()},
        sizes=(steps := training_sizes(sizes, len(rows) - t, len(rows.classes))),
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
    """Computes the repeats that are not known yet."""

    rows: RowsToCompare
    models: dict[str, Any]
    metric: Metric
    known: Comparison

    def run(self, workers: int, path: Path | None) -> Comparison:
        """Run the repeats in a thread pool. After an interrupt, complete repeats are kept."""
        todo = np.flatnonzero(~self.known.whole).tolist()
        total = int(self.known.missing.sum())
        stop, lock = Event(), Lock()
        config = get_config()  # each thread has its own settings of scikit-learn

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
        """The value of each missing model and size in this repeat, or the reason of a failure."""
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
                        value = value if np.isfinite(value) else f"The score is {value}."
                    except Exception as error:
                        value = f"{type(error).__name__}: {error}"
                    yield (m, s), value


def _with(known: Comparison, repeat: int, found: Found | None, path: Path | None) -> Comparison:
    """The comparison with the values of one more repeat."""
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
        raise VerosimError(f"{name} must be an integer of at least 1; got {value!r}.")
    return int(value)


@contextmanager
def _few_warnings() -> Iterator[None]:
    """Show one warning of each kind, instead of one for each of hundreds of fits."""
    with warnings.catch_warnings(record=True) as caught:
        yield
    kinds: dict[type[Warning], list[str]] = {}
    for warning in caught:
        kinds.setdefault(warning.category, []).append(str(warning.message))
    for kind, messages in kinds.items():
        more = f" (and {len(messages) - 1} similar warnings)" if len(messages) > 1 else ""
        warn(f"{messages[0]}{more}", kind)


def _report(found: Comparison) -> None:
    """Warn about an interrupt and about failed fits, which the means do not show."""
    if not found.complete:
        warn(
            f"The comparison was interrupted after {found.repeats} of {found.asked} repeats. "
            "Continue it with compare(…, resume=result).",
            VerosimWarning,
        )
    if not found.failures:
        return
    tried = found.values.size - int(found.missing.sum())
    first = found.failures[0]
    warn(
        f"{len(found.failures)} of {tried} fits failed; `failures` of the result lists them. The "
        f"first one is {first.model!r} on {first.size} rows in repeat {first.repeat}: "
        f"{first.reason}",
        VerosimWarning,
    )
