"""The change of single columns between two sets of rows, from their sums.

    values of a column     KL(q ‖ p) = Σ_v q(v) log q(v)/p(v)
    numbers                KL between the Gaussians of the means and variances
    amounts per row        KL between Poisson distributions: b log b/a − b + a
    tokens of a text       (tokens per row) × KL of the shares of the tokens

p is the distribution of the first rows, and q that of the second rows.
References: Kullback & Leibler (1951), On information and sufficiency; McCallum & Nigam (1998), A
comparison of event models for naive Bayes text classification.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import chi2

from verosim.axes.groups import Groups
from verosim.axes.value_hashes import agreed_values
from verosim.errors import VerosimError
from verosim.kinds.missing import MISSING
from verosim.models import State

HALF_ROW = 0.5  # added to each count, so that no share is zero
LEAST_TOKENS = 10  # rarer tokens are counted together
MOST_DRIFTED_TOKENS = 10  # tokens that are reported
# How columns are compared, by the kind of the sums. The first is used if a column has several.
COMPARED_AS = {
    "bins": "values", "categories": "values", "presence": "values", "joint": "values",
    "contexts": "cells", "pairs": "cells", "tokens": "tokens", "terms": "tokens",
    "amounts": "amounts", "numbers": "numbers",
}  # fmt: skip
ORDER = ("values", "cells", "tokens", "amounts", "numbers")


@dataclass(frozen=True)
class ColumnDrifts:
    """The change of some columns."""

    names: list[str]
    nats: np.ndarray  # (d,) per row
    index: np.ndarray  # (d,)
    by_chance: np.ndarray  # (d,) the 95 % quantile of the index if nothing has changed
    class_nats: np.ndarray  # (C,) summed over the columns
    tokens: dict[str, tuple[tuple[str, float, float], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ComparedPart:
    """The sums of several columns of one kind."""

    how: str  # one of ORDER
    names: tuple[str, ...]
    sums: Any  # a statistic
    cells: dict[str, Any]  # how the cells of each column are found
    of_table: frozenset[str] = frozenset()  # the columns of the table

    def places(self, names: list[str]) -> np.ndarray:
        """The positions of some columns."""
        at = {name: j for j, name in enumerate(self.names)}
        return np.array([at[name] for name in names], dtype=np.intp)


def parts_of(state: State) -> list[ComparedPart]:
    """The parts of a model with sums of single columns, in the order in which they are used."""
    cells = {} if state.schema is None else {one.name: one for one in state.schema.cells}
    of_table = () if state.schema is None else (column.name for column in state.schema.used)
    own = frozenset(of_table)
    out = []
    for name, leaf in _named_leaves(state.statistic):
        how = COMPARED_AS.get(leaf.sums_of)
        if how is None or not leaf.has_sums or name == MISSING.name:
            continue
        if how == "numbers" and leaf.block_columns != leaf.axes.columns.size:
            continue  # sums of random features, which are not columns
        out.append(ComparedPart(how, tuple(leaf.axes.columns), leaf, cells, own))
    out.sort(key=lambda part: ORDER.index(part.how))
    return out


def _named_leaves(statistic: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if statistic.sums_of != "parts":
        yield name, statistic
        return
    for inner, part in statistic.named_parts():
        yield from _named_leaves(part, inner)


# Pairs of parts -----------------------------------------------------------------------------------


def column_drifts(before: list[ComparedPart], after: list[ComparedPart]) -> list[ColumnDrifts]:
    """The change of all columns that both models have with the same bins or categories."""
    out: list[ColumnDrifts] = []
    taken: set[str] = set()
    for part in before:
        for other in after:
            if other.how != part.how:
                continue
            theirs = set(other.names)
            known = taken | (set(part.names) & part.of_table)
            names = [
                name for name in part.names
                if name in theirs and name not in taken and not _is_of(name, known, part.of_table)
            ]  # fmt: skip
            found = list(_compared(part, other, names)) if names else []
            out += found
            taken.update(name for one in found for name in one.names)
    return out


def _is_of(name: str, known: set[str], of_table: frozenset[str]) -> bool:
    """Whether a name such as "hue = red" or "age is missing" is that of a known column."""
    if name in of_table:
        return False
    return any(name[:at] in known for at, letter in enumerate(name) if letter == " ")


def _compared(part: ComparedPart, other: ComparedPart, names: list[str]) -> Iterator[ColumnDrifts]:
    """The change of some columns. Columns with other bins are left out."""
    try:
        yield COMPARE[part.how](part, other, names)
    except VerosimError:
        if len(names) > 1:
            for name in names:
                yield from _compared(part, other, [name])


def _aligned(part: ComparedPart, other: ComparedPart, names: list[str]) -> tuple[Any, Any]:
    """The sums of some columns on common axes."""
    narrow = [list(one.names) != names for one in (part, other)]
    if any(narrow) and not part.sums.can_narrow:
        raise VerosimError("The sums are those of all columns together.")
    a, b = (
        one.sums.narrowed(one.places(names)) if less else one.sums
        for one, less in zip((part, other), narrow, strict=True)
    )
    found: tuple[Any, Any] = a.on_common_axes(b)
    return found


def _of_numbers(part: ComparedPart, other: ComparedPart, names: list[str]) -> ColumnDrifts:
    a, b = (ComparedPart(one.how, one.names, one.sums.available(), {}) for one in (part, other))
    mine, theirs = _aligned(a, b, names)
    (W, mean, var), (V, mean_b, var_b) = _moments(mine), _moments(theirs)
    all_a, all_b = _all_classes(W, mean, var), _all_classes(V, mean_b, var_b)
    nats = _gaussian(*all_a, *all_b)
    inside = _gaussian(mean, var, mean_b, var_b)  # (C, d)
    inside = np.where((W > 0) & (V > 0), inside, 0.0)
    return _drifts(
        names, nats, nats + _gaussian(*all_b, *all_a), np.full(len(names), 2), W.sum(axis=0),
        V.sum(axis=0), inside.sum(axis=1),
    )  # fmt: skip


def _of_values(part: ComparedPart, other: ComparedPart, names: list[str]) -> ColumnDrifts:
    a, b = _aligned(part, other, names)
    return _of_tables(names, _tables(a), _tables(b))


def _of_cells(part: ComparedPart, other: ComparedPart, names: list[str]) -> ColumnDrifts:
    (a, codes_a), (b, codes_b) = (_cell_counts(one.sums) for one in (part, other))
    mine, theirs = (Groups(one.sums.axes.groups.classes) for one in (part, other))
    both = mine.union(theirs)
    found: list[list[np.ndarray]] = [[], []]
    for name, i, j in zip(names, part.places(names), other.places(names), strict=True):
        one, two = part.cells.get(name), other.cells.get(name)
        same = codes_a.sizes[i] == codes_b.sizes[j] and (codes_a.maps[i] == codes_b.maps[j]).all()
        if one is not None and two is not None:
            same &= one.edges == two.edges and agreed_values(one.values, two.values) is not None
        if not same:
            raise VerosimError(f"Column {name!r} has other bins in the two models.")
        for out, table, codes, at, groups in (
            (found[0], a, codes_a, i, mine), (found[1], b, codes_b, j, theirs),
        ):  # fmt: skip
            rows = np.zeros((len(both.classes), codes.sizes[at] - 1))  # the last code is missing
            rows[both_places(groups, both)] = table[:, codes.first[at] : codes.first[at + 1] - 1]
            out.append(rows)
    return _of_tables(names, *found)


def _of_tables(names: list[str], a: list[np.ndarray], b: list[np.ndarray]) -> ColumnDrifts:
    """The change of columns with counts (C, K) of their values."""
    nats, index, free, n, m = np.zeros((5, len(names)))
    inside = np.zeros(len(a[0]))  # (C,)
    for j, (one, two) in enumerate(zip(a, b, strict=True)):
        p, q = smoothed_shares(one.sum(axis=0)), smoothed_shares(two.sum(axis=0))
        nats[j], index[j] = (q * np.log(q / p)).sum(), ((q - p) * np.log(q / p)).sum()
        free[j], n[j], m[j] = one.shape[1] - 1, one.sum(), two.sum()
        p, q = smoothed_shares(one), smoothed_shares(two)  # within each class
        inside += (q * np.log(q / p)).sum(axis=1)
    return _drifts(names, nats, index, free, n, m, inside)


def _of_amounts(part: ComparedPart, other: ComparedPart, names: list[str]) -> ColumnDrifts:
    a, b = _aligned(part, other, names)
    counts = [one.arrays["count"][:, 0] for one in (a, b)]  # (C, d)
    rows = [one.weight[:, 0] for one in (a, b)]  # (C,)
    totals = [count.sum(axis=0) for count in counts]  # (d,)
    nats, index = _poisson(
        *((t + HALF_ROW) / (n.sum() + 1) for t, n in zip(totals, rows, strict=True))
    )
    inside, _ = _poisson(
        *((count + HALF_ROW) / (n[:, None] + 1) for count, n in zip(counts, rows, strict=True))
    )
    one = np.ones(len(names))
    return _drifts(
        names, nats, index, one, one * rows[0].sum(), one * rows[1].sum(), inside.sum(axis=1)
    )


def _of_tokens(part: ComparedPart, other: ComparedPart, names: list[str]) -> ColumnDrifts:
    """The change of one column of texts. Rare tokens are counted together."""
    a, b = part.sums.on_common_axes(other.sums)
    field_ = "sum" if a.sums_of == "terms" else "count"
    counts = [np.asarray(one.arrays[field_])[:, 0] for one in (a, b)]  # (C, K)
    seen = sum(one.arrays["cells"].sum(axis=0) for one in (a, b))  # (K,) without weights
    often = seen >= LEAST_TOKENS
    counts = [
        np.hstack([count[:, often], count[:, ~often].sum(axis=1, keepdims=True)])
        for count in counts
    ]
    tokens = [token for token, kept in zip(a.count_names(), often, strict=True) if kept]
    p, q = (smoothed_shares(count.sum(axis=0)) for count in counts)
    rows = np.maximum(b.weight[:, 0], HALF_ROW)  # (C,)
    length = counts[1].sum() / rows.sum()  # the amount of tokens of a row
    each = (q - p) * np.log(q / p)  # (K,)
    inside_p, inside_q = (smoothed_shares(count) for count in counts)
    inside = (inside_q * np.log(inside_q / inside_p)).sum(axis=1) * counts[1].sum(axis=1) / rows
    most = [i for i in np.argsort(-each, kind="stable") if i < len(tokens)][:MOST_DRIFTED_TOKENS]
    n, m = (np.array([count.sum()]) for count in counts)
    found = _drifts(
        names, np.array([(q * np.log(q / p)).sum() * length]), np.array([each.sum()]),
        np.array([len(each) - 1]), n, m, inside,
    )  # fmt: skip
    shares = tuple((tokens[i], float(p[i]), float(q[i])) for i in most)
    return ColumnDrifts(
        found.names, found.nats, found.index, found.by_chance, found.class_nats, {names[0]: shares}
    )


COMPARE = {
    "numbers": _of_numbers, "values": _of_values, "cells": _of_cells, "amounts": _of_amounts,
    "tokens": _of_tokens,
}  # fmt: skip


def _drifts(
    names: list[str], nats: Any, index: Any, free: Any, n: Any, m: Any, class_nats: Any
) -> ColumnDrifts:
    """The index is about χ²(free) (1/n + 1/m) if nothing has changed."""
    per_row = 1 / np.maximum(n, HALF_ROW) + 1 / np.maximum(m, HALF_ROW)
    chance = chi2.ppf(0.95, np.maximum(free, 1)) * per_row
    return ColumnDrifts(names, nats, index, chance, class_nats)


# Sums of single columns ---------------------------------------------------------------------------


def smoothed_shares(count: np.ndarray) -> np.ndarray:
    """(…, K) shares, with half a row more for each value."""
    smoothed = np.maximum(count, 0.0) + HALF_ROW
    return np.asarray(smoothed / smoothed.sum(axis=-1, keepdims=True))


def _tables(statistic: Any) -> list[np.ndarray]:
    """For each column, the weights (C, K) of its values."""
    count = statistic.arrays["count"][:, 0]
    if statistic.sums_of == "presence":
        seen = statistic.weight[:, 0, None] - statistic.arrays["missing"][:, 0]
        return [np.stack([count[:, j], seen[:, j] - count[:, j]], 1) for j in range(count.shape[1])]
    codes = statistic.axes.codes
    if statistic.sums_of == "joint":
        return [
            np.stack([np.bincount(at, row, len(edges) - 1) for row in count])
            for at, edges in zip(codes.cell_bins().T, codes.bins.edges, strict=True)
        ]
    first = codes.first
    return [count[:, a:b] for a, b in pairwise(first)]


def both_places(groups: Groups, both: Groups) -> np.ndarray:
    """The positions of the classes of one side among those of both sides."""
    at = {label: k for k, label in enumerate(both.classes.tolist())}
    return np.array([at[label] for label in groups.classes.tolist()], dtype=np.intp)


def _cell_counts(statistic: Any) -> tuple[np.ndarray, Any]:
    """(C, J) the weights of single codes, and the codes of the columns."""
    codes = statistic.codes if statistic.sums_of == "pairs" else statistic.codes.cells
    return statistic.single().sum(axis=1), codes


def _moments(moments: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(C, d) weight, mean and variance of each class. Pooled sums have one variance for all."""
    S = moments.arrays["sum"][:, 0]
    W = np.broadcast_to(moments.weights[:, 0], S.shape)
    safe = np.where(W > 0, W, 1.0)
    mean = np.where(W > 0, np.nan_to_num(moments.arrays["pivot"]) + S / safe, 0.0)
    if moments.layout == "pooled":
        within = moments.squares().sum(axis=0) - (S * S / safe).sum(axis=0)
        var = np.broadcast_to(within / np.maximum(W.sum(axis=0), 1.0), S.shape)
    else:
        var = moments.squares()[:, 0] / safe - (S / safe) ** 2
    return W, mean, np.where(W > 0, np.maximum(var, 0.0), 0.0)


def _all_classes(W: np.ndarray, mean: np.ndarray, var: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d,) the mean and the variance of all rows."""
    total = np.maximum(W.sum(axis=0), HALF_ROW)
    centre = (W * mean).sum(axis=0) / total
    return centre, (W * (var + (mean - centre) ** 2)).sum(axis=0) / total


def _gaussian(mean: Any, var: Any, mean_b: Any, var_b: Any) -> np.ndarray:
    """KL(N(mean_b, var_b) ‖ N(mean, var)); 0 if both are the same constant."""
    least = 1e-9 * (var + var_b)
    p, q = np.maximum(var, least), np.maximum(var_b, least)
    constant = (p == 0) & (q == 0)
    p, q = np.where(constant, 1.0, p), np.where(constant, 1.0, q)
    nats = 0.5 * (np.log(p / q) + (q + (mean_b - mean) ** 2) / p - 1)
    return np.where(constant, np.where(mean == mean_b, 0.0, np.inf), np.maximum(nats, 0.0))


def _poisson(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """KL(Poisson(b) ‖ Poisson(a)), and the index, which is the sum of both directions."""
    return b * np.log(b / a) - b + a, (b - a) * np.log(b / a)
