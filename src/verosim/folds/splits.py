"""Ways to split rows into folds, as users ask for them: a number, a scikit-learn splitter, numbers
or names given row by row, a column, or a hash where rows stream.

A partition, in which every row is held out once, is a number for each row. Other splits, such as
repeated or random ones, are pairs of training and test rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from verosim.data import ArraySource, encode_labels
from verosim.data.batch import UNWEIGHTED
from verosim.data.folds import (
    GivenFolds,
    GroupFolds,
    RowFolds,
    TableFolds,
    column_folds,
    is_table_folds,
)
from verosim.data.schema import near
from verosim.data.stream import TableSource, weights_of
from verosim.errors import VerosimError

TrainTestPairs = list[tuple[np.ndarray, np.ndarray]]

ASK = (
    "a number of folds, a scikit-learn splitter, (train, test) pairs, a fold for every row, the "
    'name of a column of folds, or "loo".'
)


def number_of_folds(cv: Any) -> int | None:
    """cv as a number, if it is one."""
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer):
        return None
    if cv < 2:
        raise VerosimError(f"cv={cv}: two folds are the least.", ASK)
    return int(cv)


def array_folds(
    cv: Any, y: np.ndarray, groups: Any = None, X: Any = None, weights: np.ndarray = UNWEIGHTED
) -> tuple[np.ndarray, int] | TrainTestPairs:
    """(n,) the fold of every row and how many there are; or pairs where rows are not parted.

    Folds by number part the rows that have a weight; the others go to the first.
    """
    n = len(y)
    if isinstance(cv, str) and cv == "loo":
        raise VerosimError('cv="loo" makes no folds, and folds are needed here.', "cv=10.")
    if y.dtype == object:  # scikit-learn's splitters want labels of one type
        y = encode_labels(y)[0]
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (n,):
            raise VerosimError(f"groups has shape {groups.shape} and there are {n} rows.")
    count = number_of_folds(cv)
    if count is not None and len(weights) and not weights.all():
        there = np.flatnonzero(weights)
        some = None if groups is None else groups[there]
        numbers = np.zeros(n, dtype=np.int32)
        numbers[there] = array_folds(cv, y[there], some)[0]
        return numbers, count
    if count is not None:
        if count > n:
            raise VerosimError(f"cv={count} folds of {n} rows.", 'fewer folds, or cv="loo".')
        if groups is None:
            return _stratified(y, count), count
        pairs = _pairs(StratifiedGroupKFold(count), y, groups, X)
    elif isinstance(cv, str):
        raise VerosimError(f"cv={cv!r}: X and y are arrays, which have no such column.", ASK)
    elif hasattr(cv, "split"):
        pairs = _pairs(cv, y, groups, X)
    else:
        found = _row_by_row(cv, n)
        if found is not None:
            _no_groups(groups)
            return found
        pairs = _given_pairs(cv, n)
    return _partition(pairs, n) or pairs


def _no_groups(groups: Any) -> None:
    if groups is not None:
        raise VerosimError(
            "groups are given, and so is the fold of every row.",
            "leave one out: groups are for a number of folds, or a splitter that heeds them.",
        )


def _stratified(y: np.ndarray, count: int) -> np.ndarray:
    """(n,) folds that share out every class evenly: those of scikit-learn's StratifiedKFold.

    A class rarer than there are folds goes to some of them.
    """
    codes, labels = encode_labels(y)
    n, C = len(codes), len(labels)
    first = np.zeros(C, dtype=np.intp)
    first[codes[::-1]] = np.arange(n - 1, -1, -1)  # classes are counted as they first appear
    codes = np.argsort(np.argsort(first))[codes]
    ordered = np.repeat(np.arange(C), np.bincount(codes, minlength=C))
    shares = np.array([np.bincount(ordered[f::count], minlength=C) for f in range(count)])
    numbers = np.empty(n, dtype=np.int32)
    numbers[np.argsort(codes, kind="stable")] = np.concatenate(
        [np.repeat(np.arange(count), shares[:, c]) for c in range(C)]
    )
    return numbers


def _pairs(splitter: Any, y: np.ndarray, groups: Any, X: Any) -> TrainTestPairs:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class rarer than the folds is no trouble
        try:
            rows = np.zeros((len(y), 1)) if X is None else X
            return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(rows, y, groups)]
        except (ValueError, TypeError) as error:
            raise VerosimError(f"{splitter!r} cannot split these rows: {error}") from None


def _row_by_row(cv: Any, n: int) -> tuple[np.ndarray, int] | None:
    """A fold for every row, by number or by name."""
    try:
        given = np.asarray(cv)
    except ValueError:
        return None
    if given.ndim != 1 or given.dtype.kind not in "iufbUSO" or len(given) != n:
        return None
    if given.dtype == object and any(not np.isscalar(value) for value in given.tolist()):
        return None
    if given.dtype.kind == "f" and np.isnan(given).any():
        row = int(np.flatnonzero(np.isnan(given))[0])
        raise VerosimError(f"Row {row} has no fold: cv is NaN there.", "give every row one.")
    names, numbers = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise VerosimError("cv puts all rows into one fold, and two are the least.", ASK)
    return numbers.astype(np.int32), len(names)


def _given_pairs(cv: Any, n: int) -> TrainTestPairs:
    wrong = VerosimError(f"cv={cv!r} is not known.", ASK)
    if not isinstance(cv, Iterable):
        raise wrong
    pairs: TrainTestPairs = []
    for pair in cv:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise wrong
        train, test = (np.asarray(rows) for rows in pair)
        train, test = (np.flatnonzero(r) if r.dtype == bool else r for r in (train, test))
        for rows in (train, test):
            if rows.dtype.kind not in "iu":
                raise VerosimError(f"cv holds {rows.dtype} where row numbers are needed.", ASK)
            if not len(rows) or rows.min() < -n or rows.max() >= n:
                raise VerosimError(
                    f"Fold {len(pairs)} of cv is empty or names rows beyond the {n} there are.", ASK
                )
        pairs.append((train % n, test % n))
    if not pairs:
        raise wrong
    return pairs


def _partition(pairs: TrainTestPairs, n: int) -> tuple[np.ndarray, int] | None:
    """The fold of every row, if each is held out once and trained on otherwise."""
    numbers = np.full(n, -1, dtype=np.int32)
    for f, (train, test) in enumerate(pairs):
        trained = np.zeros(n, dtype=bool)
        trained[train] = True
        if len(train) + len(test) != n or trained.sum() != len(train) or trained[test].any():
            return None
        if (numbers[test] >= 0).any():
            return None
        numbers[test] = f
    return None if (numbers < 0).any() else (numbers, len(pairs))


def table_folds(cv: Any, source: TableSource, y: np.ndarray | None, groups: Any) -> TableFolds:
    """Folds of a table: by hash, by a column, or by a splitter that is shown the labels."""
    names, na = source.table.names, source.reader.na
    check_readable_twice(source)
    if is_table_folds(cv):
        return cv
    for name, what in ((cv, "column of folds"), (groups, "column of groups")):
        if isinstance(name, str) and name not in names:
            raise VerosimError(f"The {what} {name!r} is not in the table.", near(name, names))
    if isinstance(cv, str):
        _no_groups(groups)
        if cv == source.target:
            raise VerosimError(f"{cv!r} is the target, so it cannot part the rows.", ASK)
        return column_folds(source.table, cv, na)
    count = number_of_folds(cv)
    if count is not None and isinstance(groups, str):
        return GroupFolds(groups, count, na)
    if count is not None and isinstance(source.target, str) and groups is None:
        return RowFolds(count)
    if y is None:
        y = labels_of_table(source)
    if isinstance(groups, str):
        groups = np.concatenate([
            rows.batch.column(groups).to_numpy(zero_copy_only=False)
            for rows in source.table.batches({groups})
        ])  # fmt: skip
    weights = source.weights if isinstance(source.weights, np.ndarray) else UNWEIGHTED
    found = array_folds(cv, y, groups, weights=weights)
    if isinstance(found, list):
        raise VerosimError(
            "These folds do not hold every row out once, and a table is read only twice.",
            "a splitter that parts the rows, such as KFold; or give arrays.",
        )
    return GivenFolds(*found)


def check_readable_twice(source: TableSource) -> None:
    """One pass gives the statistics of the folds, another scores their rows."""
    if source.table.once:
        raise VerosimError(
            "This source can be read only once, and validation reads it twice.",
            "give a file, a table, or a list of the pieces.",
        )


def labels_of_table(source: TableSource) -> np.ndarray:
    """(n,) the label of every row, from a pass over the target alone."""
    if not isinstance(source.target, str):
        return source.target.labels[source.target.codes]
    found = []
    for chunk in TableSource(source.table, source.reader, source.target).pieces({source.target}):
        codes, labels = chunk.labels()
        found.append(labels[codes])
    return np.concatenate(found)


def row_labels(source: ArraySource | TableSource, y: Any) -> np.ndarray:
    """(n,) the label of every row of a source."""
    if isinstance(source, TableSource) and isinstance(source.target, str):
        return labels_of_table(source)
    return np.asarray(y)


def row_weights(source: ArraySource | TableSource, n: int) -> np.ndarray:
    """(n,) the weight of every row of a source."""
    weights = source.weights
    if isinstance(source, TableSource) and isinstance(weights, str):
        batches = source.table.batches({weights})
        return np.concatenate([weights_of(weights, rows) for rows in batches])
    return np.ones(n) if weights is None or not len(weights) else weights
