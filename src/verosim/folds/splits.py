"""Ways to split rows into folds: a number of folds, a scikit-learn splitter, a fold for each row, a
column of a table, its order in time, or a hash for tables that are read in pieces.

In a partition each row is held out once, so it is stored as one fold number per row. Other splits,
such as repeated or random splits, are pairs of training and test rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from verosim import engines
from verosim.data import encode_labels
from verosim.data.batch import UNWEIGHTED
from verosim.data.blocks import BlockFolds, Folds, folds_of_pairs
from verosim.data.clusters import check_is_here
from verosim.data.folds import GivenFolds, GroupFolds, NamesOfFolds, Partition, RowFolds
from verosim.data.labels import label_array
from verosim.data.near_names import check_in_table
from verosim.data.source import Chunk, RowSource
from verosim.errors import VerosimError
from verosim.folds.time_blocks import time_blocks, time_column

TrainTestPairs = list[tuple[np.ndarray, np.ndarray]]

ASK = (
    "Give a number of folds, a scikit-learn splitter, (train, test) pairs, a fold for each row, "
    'the name of a column of folds, "time:column", or "loo".'
)


def number_of_folds(cv: Any) -> int | None:
    """cv as a number of folds, or None if it is something else."""
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer):
        return None
    if cv < 2:
        raise VerosimError(f"cv must be at least 2; got {cv}.", ASK)
    return int(cv)


def array_folds(
    cv: Any, y: np.ndarray, groups: Any = None, X: Any = None, weights: np.ndarray = UNWEIGHTED
) -> tuple[np.ndarray, int] | TrainTestPairs:
    """(n,) the fold of each row and the number of folds; or pairs if folds overlap.

    A number of folds splits the rows with positive weight. The other rows go to the first fold.
    """
    n = len(y)
    if isinstance(cv, str) and cv == "loo":
        raise VerosimError('cv="loo" is not possible here, because folds are needed.', "Use cv=10.")
    if y.dtype.kind not in "biuU":  # the splitters of scikit-learn refuse labels of other types
        y = encode_labels(y)[0]
    if groups is not None:
        groups = groups_of_rows(groups, n)
    count = number_of_folds(cv)
    if count is not None and len(weights) and not weights.all():
        there = np.flatnonzero(weights)
        some = None if groups is None else groups[there]
        numbers = np.zeros(n, dtype=np.int32)
        numbers[there] = array_folds(cv, y[there], some)[0]
        return numbers, count
    if count is not None:
        if count > n:
            raise VerosimError(
                f"cv must be at most the number of rows, {n}; got {count}.",
                'Use fewer folds, or cv="loo".',
            )
        if groups is None:
            return _stratified(y, count), count
        from sklearn.model_selection import StratifiedGroupKFold  # slow to import, rarely needed

        pairs = _pairs(StratifiedGroupKFold(count), y, groups, X)
    elif isinstance(cv, str):
        raise VerosimError(f"cv={cv!r} is not a column, because X is an array.", ASK)
    elif hasattr(cv, "split"):
        pairs = _pairs(cv, y, groups, X)
    else:
        found = _row_by_row(cv, n)
        if found is not None:
            _no_groups(groups)
            return found
        pairs = _given_pairs(cv, n)
    return _partition(pairs, n) or pairs


def shuffled_folds(
    count: int, y: np.ndarray, weights: np.ndarray = UNWEIGHTED, seed: Any = 0
) -> np.ndarray:
    """(n,) stratified folds of rows in random order, always the same for the same labels and seed.

    The order of a sorted file then has no influence on the folds.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    found = array_folds(count, y[order], weights=weights[order] if len(weights) else weights)
    assert isinstance(found, tuple)
    numbers = np.empty(len(y), dtype=np.int32)
    numbers[order] = found[0]
    return numbers


def groups_of_rows(groups: Any, rows: int | None) -> np.ndarray:
    """(n,) the group of each row. `rows` is the number of rows if it is known."""
    groups = label_array(groups)
    if groups.ndim != 1 or (rows is not None and len(groups) != rows):
        wanted = "row" if rows is None else f"of the {rows} rows"
        raise VerosimError(
            f"groups must have one value for each {wanted}; got shape {groups.shape}."
        )
    return groups


def _no_groups(groups: Any) -> None:
    """Raise an error if groups are given together with the fold of each row."""
    if groups is not None:
        raise VerosimError(
            "The argument groups cannot be used together with the fold of each row.",
            "Leave groups out, or give a number of folds or a splitter that uses groups.",
        )


def _stratified(y: np.ndarray, count: int) -> np.ndarray:
    """(n,) folds with equal shares of each class, the same as scikit-learn's StratifiedKFold.

    A class with fewer rows than folds is in some of the folds.
    """
    codes, labels = encode_labels(y)
    n, C = len(codes), len(labels)
    first = np.zeros(C, dtype=np.intp)
    first[codes[::-1]] = np.arange(n - 1, -1, -1)  # classes are numbered by their first row
    codes = np.argsort(np.argsort(first))[codes]
    ordered = np.repeat(np.arange(C), np.bincount(codes, minlength=C))
    shares = np.array([np.bincount(ordered[f::count], minlength=C) for f in range(count)])
    numbers = np.empty(n, dtype=np.int32)
    numbers[np.argsort(codes, kind="stable")] = np.concatenate(
        [np.repeat(np.arange(count), shares[:, c]) for c in range(C)]
    )
    return numbers


def _pairs(splitter: Any, y: np.ndarray, groups: Any, X: Any) -> TrainTestPairs:
    """The training and test rows of a scikit-learn splitter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes may have fewer rows than folds
        try:
            rows = np.zeros((len(y), 1)) if X is None else X
            return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(rows, y, groups)]
        except (ValueError, TypeError) as error:
            raise VerosimError(
                f"{splitter!r} cannot split these rows ({error}).", "Use another splitter."
            ) from None


def _row_by_row(cv: Any, n: int) -> tuple[np.ndarray, int] | None:
    """The fold of each row and the number of folds, if cv has one number or name per row."""
    try:
        given = label_array(cv)
    except ValueError:
        return None
    if given.ndim != 1 or given.dtype.kind not in "iufbUSO" or len(given) != n:
        return None
    if given.dtype == object and any(not np.isscalar(value) for value in given.tolist()):
        return None
    if given.dtype.kind == "f" and np.isnan(given).any():
        row = int(np.flatnonzero(np.isnan(given))[0])
        raise VerosimError(
            f"Row {row} has no fold, because cv is NaN there.", "Give a fold for each row."
        )
    names, numbers = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise VerosimError("cv must have at least 2 folds; got one fold for all rows.", ASK)
    return numbers.astype(np.int32), len(names)


def _given_pairs(cv: Any, n: int) -> TrainTestPairs:
    """The pairs of training and test rows that the user gave, checked."""
    wrong = VerosimError(f"cv={cv!r} does not define folds.", ASK)
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
                raise VerosimError(
                    f"cv must have pairs of row numbers; got values of type {rows.dtype}.", ASK
                )
            if not len(rows) or rows.min() < -n or rows.max() >= n:
                raise VerosimError(
                    f"Fold {len(pairs)} of cv is empty, or has row numbers beyond the {n} rows.",
                    ASK,
                )
        pairs.append((train % n, test % n))
    if not pairs:
        raise wrong
    return pairs


def _partition(pairs: TrainTestPairs, n: int) -> tuple[np.ndarray, int] | None:
    """The fold of each row, if each row is held out once and is a training row otherwise."""
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


def folds_of_source(
    cv: Any, source: RowSource, y: np.ndarray | None, groups: Any = None, X: Any = None
) -> Folds:
    """The folds of a source: by hash, by a column, in time, or by a splitter.

    `y` are the labels if they are an array, and `X` the rows that a splitter may look at.
    """
    check_readable_twice(source)
    if isinstance(cv, Partition | BlockFolds):
        return cv
    if not source.names:
        assert y is not None
        return _by_number(array_folds(cv, y, groups, X, source.weights), len(y))
    by_column = _folds_by_column(cv, source, groups)
    if by_column is not None:
        return by_column
    check_is_here(source, f"cv={cv!r}" if groups is None else "groups in an array")
    if y is None:
        y = row_labels(source)
    if isinstance(groups, str):
        groups = cells_of_column(source, groups)
    weights = source.weights if isinstance(source.weights, np.ndarray) else UNWEIGHTED
    found = array_folds(cv, y, groups, weights=weights)
    return _by_number(_without_repeats(found) if isinstance(found, list) else found, len(y))


def _by_number(found: tuple[np.ndarray, int] | TrainTestPairs, n: int) -> Folds:
    return folds_of_pairs(found, n) if isinstance(found, list) else GivenFolds(*found)


def _folds_by_column(cv: Any, source: RowSource, groups: Any) -> Folds | None:
    """The folds of rows that need no numbers: by a column, in time, or by the cells of a row."""
    na = source.reader.na
    in_time = time_column(cv, source.names)
    if in_time is not None:
        _no_groups(groups)
        return time_blocks(source, *in_time)
    for name, what in ((cv, "column of folds"), (groups, "column of groups")):
        if isinstance(name, str):
            check_in_table(name, source.names, what)
    if isinstance(cv, str):
        _no_groups(groups)
        if cv == source.target:
            raise VerosimError(f"{cv!r} is the target, so it cannot define the folds.", ASK)
        found: Folds = engines.reduce(source.only(cv), NamesOfFolds(cv, na))
        return found
    count = number_of_folds(cv)
    if count is not None and isinstance(groups, str):
        return GroupFolds(groups, count, na)
    if count is not None and isinstance(source.target, str) and groups is None:
        return RowFolds(count)
    return None


def _without_repeats(pairs: TrainTestPairs) -> TrainTestPairs:
    """The pairs, after a check that a table can be split by them."""
    for f, (train, test) in enumerate(pairs):
        for rows in (train, test):
            if len(np.unique(rows)) < len(rows):
                raise VerosimError(
                    f"Fold {f} of cv has a row of the table more than once.",
                    "Give each row once, and its weight by sample_weight.",
                )
    return pairs


def check_readable_twice(source: RowSource) -> None:
    """Raise an error if a source cannot be read twice: once to learn, once to score."""
    if source.passes == 1:
        raise VerosimError(
            "This source can be read only once, but validation reads it twice.",
            "Give a file, a table, or a list of the pieces.",
        )


def cells_of_column(source: RowSource, name: str) -> np.ndarray:
    """(n,) the cells of a column of a table in this process."""
    found = engines.map(source.only(name), lambda chunk: chunk.rows.batch.column(name))
    return np.concatenate([one.to_numpy(zero_copy_only=False) for one in found])


def row_labels(source: RowSource, y: Any = None) -> np.ndarray:
    """(n,) the label of each row of a source; `y` are the labels if they were given as an array."""
    if y is not None and not isinstance(y, str):
        return label_array(y)
    return np.concatenate(list(engines.map(source.bare(), _labels_of_chunk)))


def _labels_of_chunk(chunk: Chunk) -> np.ndarray:
    codes, labels = chunk.labels()
    return labels[codes]


def row_weights(source: RowSource, n: int) -> np.ndarray:
    """(n,) the weight of each row of a source."""
    weights = source.weights
    if isinstance(weights, str):
        return np.concatenate(list(engines.map(source.bare(), lambda chunk: chunk.row_weights())))
    return np.ones(n) if weights is None or not len(weights) else weights
