"""The tables of the engine tests, and their partitions of several shapes."""

from __future__ import annotations

import numpy as np
import pandas as pd

import verosim
from verosim.testing import assert_same

CLASSES = np.array(["u", "v", "w"])


def mixed_frame(n=1200, seed=7):
    """Numbers with holes, categories, dates, booleans, texts and weights; three classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    words = np.array(["red apple", "green pear", "blue plum", "old tree", "new leaf"])
    first = rng.integers(0, 5, n)
    hue = np.array(list("abcdefg"))[(rng.integers(0, 5, n) + y) % 7]
    whole = rng.poisson(3 + y)
    return pd.DataFrame(
        {
            "size": rng.normal(y, 1.0),
            "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 1 + y)),
            "hue": hue,
            "shade": pd.Categorical(hue),
            "flag": rng.random(n) < 0.3 + 0.2 * y,
            "whole": pd.array(np.where(whole == 3, None, whole), dtype="Int64"),
            "when": pd.to_datetime(rng.integers(1_700_000_000, 1_720_000_000, n), unit="s"),
            "note": [f"{words[(k + c) % 5]} {words[k]}" for k, c in zip(first, y, strict=True)],
            "weight": rng.integers(0, 3, n).astype(float),
            "kind": CLASSES[y],
        },
        index=np.arange(n) * 3,
    )


def numbers_frame(n=1200, seed=8):
    """Numbers without holes; three classes with large means, where rounding shows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(0, 1, (n, 4)) @ rng.normal(0, 1, (4, 4)) + 1e4 * y[:, None]
    return pd.DataFrame(X, columns=list("abcd")).assign(kind=CLASSES[y])


def bounds(frame, way):
    """The frame, perhaps in another order, and the row numbers between its partitions."""
    n = len(frame)
    if way == "sorted":
        frame = frame.sort_values("kind", kind="stable")
    if way == "late class":  # a class that only the last partition has
        order = np.argsort(frame["kind"].to_numpy() == CLASSES[2], kind="stable")
        frame = frame.iloc[order]
        return frame, [0, n // 5, int((frame["kind"] != CLASSES[2]).sum()), n]
    edges = {
        "1": [0, n],
        "7": [n * i // 7 for i in range(8)],
        "64": [n * i // 64 for i in range(65)],
        "empty": [0, 0, n // 3, n // 3, n, n],
        "skewed": [0, n - 5, n - 1, n],
        "sorted": [n * i // 5 for i in range(6)],
    }
    return frame, edges[way]


WAYS = ["1", "7", "64", "empty", "skewed", "sorted", "late class"]


def same_findings(far, near):
    """Check that two diagnoses have the same numbers."""
    assert [(one.name, one.subject) for one in far] == [(one.name, one.subject) for one in near]
    for a, b in zip(far, near, strict=True):
        assert (a.value is None) == (b.value is None)
        if b.value is not None:
            np.testing.assert_allclose(a.value, b.value, rtol=1e-9, atol=1e-9, err_msg=b.name)
        if b.p_value is not None:
            np.testing.assert_allclose(a.p_value, b.p_value, rtol=1e-6, atol=1e-9)


def same_calibrations(far, near):
    """Check that two calibrated models have the same temperature and the same figures."""
    np.testing.assert_allclose(far.map_.tau, near.map_.tau, rtol=1e-9)
    assert abs(near.map_.tau - 1) > 1e-3  # there was something to find
    for name in ("before_", "after_"):
        for figure in ("error", "log_loss", "brier"):
            found, wanted = (getattr(getattr(one, name), figure) for one in (far, near))
            np.testing.assert_allclose(found, wanted, atol=1e-9, err_msg=f"{name} {figure}")


def same_pools(far, near):
    """The two results of `auto` have the same experts, scores, weights and sums."""
    figures = [
        {row.name: (row.score, row.accuracy, row.weight) for row in one.table}
        for one in (far, near)
    ]
    assert figures[0].keys() == figures[1].keys()
    for name, found in figures[0].items():
        np.testing.assert_allclose(found, figures[1][name], atol=1e-9, err_msg=name)
    assert_same(far.model.stats_, near.model.stats_, rounding=1e-9)


def same_diagnosis(table, there) -> None:
    """Compare the diagnosis of a model of a local table with that of the same rows on a cluster."""
    near, far = (
        verosim.NaiveBayes().fit(one, "kind", sample_weight="weight") for one in (table, there)
    )
    same_findings(verosim.diagnose(far), verosim.diagnose(near))
    same_findings(
        verosim.diagnose(far, there, "kind", "weight"),
        verosim.diagnose(near, table, "kind", "weight"),
    )


def same_scores_by_group(table, there, cv) -> None:
    """Compare the scores of all rows and of each group of them, here and on a cluster."""
    given = {"cv": cv, "scoring": ["accuracy", "f1_macro"], "by": "hue", "keep_rows": False}
    near, far = (
        verosim.cross_validate(verosim.NaiveBayes(), one, "kind", **given) for one in (table, there)
    )
    assert far.by.groups.tolist() == near.by.groups.tolist()
    for name, wanted in near.scores.items():
        np.testing.assert_allclose(far.scores[name], wanted, atol=1e-9)
        np.testing.assert_allclose(far.by.scores[name], near.by.scores[name], atol=1e-9)
