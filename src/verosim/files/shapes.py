"""The shapes and the values of the arrays of a record: each letter has one size.

    "f C d"   floats of shape (C, d),   "b d"   booleans,   "i G"   whole numbers

A letter in a part of a record has the same size as in the record. A float is finite unless its mark
says otherwise, also a single number.

    f   finite                       m   log of a probability, from −∞ to 0
    c   a place of rows              l   log of a density, −∞ or finite
    n   finite and not negative      p   finite and positive
    s   a share, from 0 to 1         x   any float
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from verosim.axes import Codes, Columns
from verosim.axes.contexts import ContextCodes
from verosim.data.tokens import WEIGHTINGS
from verosim.stats.plain_trees import damaged
from verosim.stats.state_checks import check_options

FARTHEST_PLACE = 1e200  # of rows
ROUNDING_OF_LOGS = 1e-6  # of probabilities that sum to 1
WORST_WHITENING = 0.1
VALUES: dict[str, Callable[[Any], Any]] = {
    "f": np.isfinite,
    "c": lambda x: np.abs(x) <= FARTHEST_PLACE,
    "n": lambda x: (x >= 0) & (x < np.inf),
    "p": lambda x: (x > 0) & (x < np.inf),
    "s": lambda x: (x >= 0) & (x <= 1 + ROUNDING_OF_LOGS),
    "m": lambda x: x <= ROUNDING_OF_LOGS,
    "l": lambda x: x < np.inf,
    "x": lambda x: True,
}
ARRAY_KINDS = {**dict.fromkeys(VALUES, np.float64), "b": np.bool_, "i": np.int64}

# By the name of the class. Letters: C classes, d columns, K codes, J codes of cells, m features.
SHAPES: dict[str, dict[str, str]] = {
    "LinearForm": {"pivot": "c d", "centre": "c d", "coef": "f C d", "bias": "f C"},
    "LinearScores": {"form": ". d", "mean": "c d"},
    "OneHotScores": {"form": ". C d", "mean": "c d", "solved": ". d"},
    "Inverse": {"root": "f r d", "null": "f d s"},
    "Certain": {"zero": "b d C", "one": "b d C"},
    "ColumnParams": {"table": "f d C", "absent": "f a C", "length": "n C", "certain": ". d C"},
    "ComplementParams": {
        "table": "f d C", "absent": "f a C", "length": "n C", "certain": ". d C", "own": "f d C"
    },
    "DiagonalParams": {
        "pivot": "c C d", "offset": "c C d", "variance": "n C d", "share": "s C",
    },
    "FullParams": {
        "pivot": "c C d", "offset": "c C d", "covariance_": "f k d d", "whitener": "f k d d",
        "log_det": "f k", "share": "s C", "used": "b d",
    },
    "Covariances": {
        "pivot": "c C d", "offset": "c C d", "covariance": "f k d d", "share": "s C", "used": "b d",
    },
    "PoissonParams": {"rate": "n C d"},
    "CodeParams": {"codes": ". K d", "table": "m T C", "kinds": "* d", "skipped": "b K"},
    "BinParams": {"codes": ". K d", "table": "l T C", "kinds": "* d", "skipped": "b K"},
    "CellParams": {"codes": ". K d", "table": "l T C", "kinds": "* e", "skipped": "b K"},
    "OneDependenceParams": {
        "codes": ". J d", "log_parent": "m J C", "log_child": "m J J C", "log_weight": "m d",
        "known": "b J",
    },
    "ContextParams": {
        "codes": ". J d", "contexts": ". d", "keys": "i K", "table": "m K C",
    },
    "Interactions": {"codes": ". J d", "columns": ". d", "first": "i q", "table": "f K C"},
    "PairScores": {"log_share": "m J C", "interactions": ". C J d", "log_prior": "m C"},
    "TextParams": {"codes": ". K", "tokens": ". C"},
    "TermScores": {"coef": "f C K", "bias": "f C", "vocabulary": ". K"},
    "MarginScores": {"coef": "f C K", "bias": "f C", "idf": "f K", "vocabulary": ". K"},
    "LiftedScores": {"form": ". C"},
    "MixtureParams": {
        "components": ". d", "owner": "i G", "log_share": "m G", "fitted": "f C",
    },
    "PoolParams": {"log_shares": "m C", "rules": ". C", "classes": "* C"},
    "ProductParams": {"parts": ". C"},
    "PairedParams": {"parts": ". C", "interactions": ". C"},
    "Decision": {"log_prior": "l C", "params": ". C d", "columns": ". d"},
    "Rule": {"log_prior": "m C", "params": ". C d", "columns": ". d"},
    "FeatureScores": {"params": ". C", "coef": "f C m", "bias": "f C", "mean": "f m"},
    "Deviations": {"coef": "f C m", "bias": "f C", "scale": "p m", "pivot": "c d", "centre": "c d"},
    "Indicators": {"coef": "f C m", "bias": "f C", "scale": "p m"},
    "TokenAmounts": {"coef": "f C m", "bias": "f C", "scale": "p m"},
    "SideBySide": {"coef": "f C m", "bias": "f C", "scale": "p m"},
    "PerceptronCourse": {"theta": "f k e", "late": "f k l"},
    "FourierMap": {
        "mean": "c d", "variance": "n d", "scale": "p d", "frequencies": "f d D", "offsets": "f D",
    },
    "ColumnWeights": {"weights": "f d", "offsets": "f C", "pair_weights": "f P"},
    "Mixing": {
        "temperatures": "p E", "exponents": "f E", "weights": "n E", "offsets": "f C",
        "classes": "* C",
    },
    "NonconformityScores": {"sorted": "f m", "above": "n n"},
    "Reliability": {"confidence": "n B", "accuracy": "n B", "weight": "n B", "log_loss": "x"},
    "LengthMap": {"offsets": "f C", "scale": "p"},
    "Temperature": {"tau": "p"},
    "Convergence": {"log_likelihood": "x n"},
    "Candidate": dict.fromkeys(("score", "error", "accuracy", "seconds", "weight"), "x"),
    # Models: their fitted attributes
    "LogisticRegression": {
        "coef_": "f r d", "intercept_": "f r", "classes_": "* C", "objective_": "x", "gap_": "x",
    },
    "Reject": {"log_least_": "l"},
    "LinearSVM": {
        "coef_": "f r d", "intercept_": "f r", "classes_": "* C", "objective_": "x r",
        "gap_": "x r", "n_iter_": "i r",
    },
    "Perceptron": {
        "coef_": "f r m", "intercept_": "f r", "classes_": "* C", "_columns": ". d",
        "criterion_": "f q", "mistakes_": "i q",
    },
    "Twin": {"coef_": "f r m", "intercept_": "f r", "classes_": "* C"},
    "Whiten": {
        "covariance_": "f d d", "mean_": "c d", "whitener_": "f d d", "unwhitener_": "f d d",
    },
    "OneVsRest": {"classes_": "* C", "estimators_": ". d"},
    "OneVsOne": {"classes_": "* C", "estimators_": ". d"},
}  # fmt: skip
WIDE_MODELS = ("LogisticRegression", "LinearSVM", "Perceptron", "Whiten", "OneVsRest", "OneVsOne")
for _name in WIDE_MODELS:
    SHAPES[_name]["feature_names_in_"] = "* d"
# Sizes that are not those of arrays
SIZES_IN_FIELDS = {
    "MixtureParams": {"C": "classes"}, **{name: {"d": "n_features_in_"} for name in WIDE_MODELS}
}  # fmt: skip
SHAPES["EMParams"] = SHAPES["FullParams"]
SHAPES["CalibratedRule"] = SHAPES["Rule"]
SHAPES["Squares"] = SHAPES["SquaresAndProducts"] = SHAPES["Deviations"]
SHAPES["Amounts"] = SHAPES["Presence"] = SHAPES["Indicators"]


def sizes_of(one: Any) -> dict[str, int]:
    """The size of each letter of a record, or of codes and columns."""
    if isinstance(one, Columns):
        return {"d": one.size}
    if isinstance(one, ContextCodes):
        return {"d": one.columns_of()}
    if isinstance(one, Codes):
        size = {"d": one.columns_of(), "K": one.size}
        return {**size, "J": one.size}
    shapes = SHAPES.get(type(one).__name__)
    if shapes is None:
        return {}
    own = SIZES_IN_FIELDS.get(type(one).__name__, {})
    sizes: dict[str, int] = {letter: getattr(one, name) for letter, name in own.items()}
    for name, text in shapes.items():
        value = getattr(one, name, None)
        mark, *letters = text.split()
        if value is None or not (letters or mark == "."):
            continue
        many = value.values() if isinstance(value, dict) else value
        for inside in many if isinstance(value, dict | list | tuple) else [value]:
            found = (
                sizes_of(inside) if mark == "." else _array_sizes(one, name, inside, mark, letters)
            )
            for letter in letters:
                known = found.get(letter)
                if known is not None and sizes.setdefault(letter, known) != known:
                    raise damaged(f"{name!r} of {type(one).__name__} has a wrong shape")
    return sizes


def _array_sizes(one: Any, name: str, value: Any, mark: str, letters: list[str]) -> dict[str, int]:
    wrong = damaged(f"{name!r} of {type(one).__name__} has a wrong type or shape")
    if not isinstance(value, np.ndarray) or value.ndim != len(letters):
        raise wrong
    if mark != "*" and value.dtype != ARRAY_KINDS[mark]:
        raise wrong
    sizes: dict[str, int] = {}
    for letter, size in zip(letters, value.shape, strict=True):
        if sizes.setdefault(letter, size) != size:
            raise wrong
    return sizes


def check_shapes(one: Any, fields: Iterable[str]) -> None:
    """Raise an error unless the fields of a record fit each other and have possible values."""
    sizes = sizes_of(one)
    _check_values(one, fields)
    more = FURTHER_CHECKS.get(type(one).__name__)
    if more is not None and not more(one, sizes):
        raise damaged(f"{type(one).__name__} has parts that do not fit each other")


def _check_values(one: Any, fields: Iterable[str]) -> None:
    name = type(one).__name__
    shapes = SHAPES.get(name, {})
    for field in fields:
        value, mark = getattr(one, field, None), shapes.get(field, "f")[0]
        declared = field in shapes and isinstance(value, np.ndarray) and value.dtype == float
        if (declared or isinstance(value, float)) and not np.all(
            VALUES.get(mark, np.isfinite)(value)
        ):
            raise damaged(f"{field!r} of {name} has an impossible number")


def check_estimates(one: Any) -> None:
    """Raise an error unless a rule or parameters, which follow from sums, have possible values."""
    shapes = SHAPES.get(type(one).__name__, {})
    made = [field for field in shapes if field in vars(one)]  # the others are not made yet
    _check_values(one, made)
    if type(one).__name__ == "Rule" and not _is_normalised(one.log_prior):
        raise damaged("its priors do not sum to 1")
    for field in made:
        if shapes[field][0] == ".":
            value = vars(one)[field]
            for inside in value.values() if isinstance(value, dict) else [value]:
                if hasattr(inside, "__dict__"):
                    check_estimates(inside)


def _has_known_options(one: Any) -> bool:
    check_options(vars(one))
    return True


def _rows_of_tokens(one: Any) -> int:
    return len(one.tokens.table)


def _is_normalised(log_p: np.ndarray) -> bool:
    """Whether the probabilities (…, C) sum to 1."""
    total = np.exp(log_p).sum()
    return bool(abs(total - 1) <= ROUNDING_OF_LOGS)


def _are_shares(one: Any) -> bool:
    """Whether the amounts of columns have shares, whose sum is above 0 and not above 1."""
    if one.presence or not len(one.table):
        return True
    with np.errstate(over="ignore"):
        total = np.exp(one.log_mass).sum(axis=0)
    return bool(((total > 0) & (total <= 1 + ROUNDING_OF_LOGS)).all())


def _has_equal_parts(one: Any) -> bool:
    """Whether the parts of a product have kinds, and as many columns as these."""
    return list(one.parts) == list(one.columns) == list(one.kinds) and all(
        sizes_of(part).get("d", one.columns[name].size) == one.columns[name].size
        for name, part in one.parts.items()
    )


def _has_numbers_of_values(one: Any) -> bool:
    """Whether the numbers of values of all columns have a finite sum."""
    if one.kinds.dtype.kind not in "if":
        return False
    with np.errstate(over="ignore"):
        return bool((one.kinds >= 0).all() and np.isfinite(one.kinds.sum()))


def _has_shares_of_bins(one: Any) -> bool:
    """Whether no bin has a share above 1."""
    return bool((one.log_mass() <= ROUNDING_OF_LOGS).all())


def _is_invertible(one: Any) -> bool:
    """Whether the whiteners of the used columns have an inverse, from which rows are drawn."""
    at = np.flatnonzero(one.used)
    return bool((np.linalg.slogdet(one.whitener[:, at[:, None], at])[1] > -np.inf).all())


def _whitens(one: Any) -> bool:
    """Whether W Σ Wᵀ has zeros and ones only, and W times its inverse too."""
    W = one.whitener_
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.array([W @ one.covariance_ @ W.T, W @ one.unwhitener_])
    diagonal = np.minimum(np.abs(found[0].diagonal()), np.abs(found[0].diagonal() - 1))
    apart = found[0] - np.diag(found[0].diagonal())
    small = (np.abs(apart) <= WORST_WHITENING).all() and (diagonal <= WORST_WHITENING).all()
    return bool(small and (np.abs(found[1]) <= 1 + WORST_WHITENING).all())


def _are_knots(knots: Any) -> bool:
    """Whether each class has an increasing map to probabilities."""
    return all(
        x.dtype == y.dtype == float and x.ndim == 1 and x.shape == y.shape and len(x) > 0
        and bool(np.isfinite(x).all() and (np.diff(x) >= 0).all())
        and bool((y >= 0).all() and (y <= 1).all())
        for x, y in knots
    )  # fmt: skip


def are_distinct(labels: np.ndarray) -> bool:
    """Whether no label occurs twice or is NaN."""
    found = labels.tolist()
    return len(set(found)) == len(found) and all(label == label for label in found)


FURTHER_CHECKS: dict[str, Any] = {
    "Decision": lambda one, n: not one.params.are_densities  # a density has a `Rule`
    and ((bool((one.log_prior > -np.inf).any()) and type(one.params).__name__ != "LinearScores")
    or len(one.params.form.bias) in ((1, 2) if n["C"] == 2 else (n["C"],))),
    "Rule": lambda one, n: _is_normalised(one.log_prior),
    "ColumnParams": lambda one, n: n["a"] == one.presence * n["d"] and _are_shares(one),
    "ComplementParams": lambda one, n: n["a"] == one.presence * n["d"] and _are_shares(one),
    "Isotonic": lambda one, n: _are_knots(one.knots),
    "ColumnWeights": lambda one, n: len(one.names) == n["d"] and len(one.pairs) == n["P"],
    "Covariances": lambda one, n: n["k"] == (1 if one.shared else n["C"]),
    "FullParams": lambda one, n: n["k"] == (1 if one.shared else n["C"]) and _is_invertible(one),
    "EMParams": lambda one, n: n["k"] == (1 if one.shared else n["C"]) and _is_invertible(one),
    "CodeParams": lambda one, n: n["T"] == n["K"] + n["d"] and _has_numbers_of_values(one),
    "BinParams": lambda one, n: n["T"] == n["K"] + n["d"] and _has_numbers_of_values(one)
    and _has_shares_of_bins(one),
    "CellParams": lambda one, n: n["T"] == n["K"] + 1 and _has_numbers_of_values(one),
    "ProductParams": lambda one, n: _has_equal_parts(one),
    "PairedParams": lambda one, n: _has_equal_parts(one),
    "OneDependenceParams": lambda one, n: _is_normalised(one.log_weight),
    "TextParams": lambda one, n: _rows_of_tokens(one) == n["K"] and one.weighting in WEIGHTINGS,
    "Deviations": lambda one, n: n["m"] == n["d"] * (1 + one.marks_missing),
    "Squares": lambda one, n: n["m"] == n["d"] * (2 + one.marks_missing),
    "SquaresAndProducts": lambda one, n: n["m"]
    == n["d"] * (1 + one.marks_missing) + n["d"] * (n["d"] + 1) // 2,
    "TokenAmounts": lambda one, n: one.weighting in WEIGHTINGS,
    "LiftedScores": lambda one, n: one.form.coef.shape[1] == one.lift.features,
    "MixtureParams": lambda one, n: len(one.components.share) == n["G"]
    and bool(np.isin(np.diff(one.owner), (0, 1)).all())  # each class has components
    and one.owner[0] == 0 and one.owner[-1] == one.classes - 1
    and len(one.fitted) == one.classes,
    "ContextParams": lambda one, n: np.array_equal(one.codes.maps, one.contexts.cells.maps)
    and np.array_equal(one.codes.sizes, one.contexts.cells.sizes),
    "Interactions": lambda one, n: n["q"] == len(one.pairs) + 1
    and all(0 <= i < j < n["d"] for i, j in one.pairs)
    and one.first[0] == 0 and one.first[-1] == n["K"]
    and all(
        size == one.codes.sizes[i] * one.codes.sizes[j]
        for size, (i, j) in zip(np.diff(one.first).tolist(), one.pairs, strict=True)
    ),
    "PerceptronCourse": lambda one, n: n["l"] in (0, n["e"]),
    "NonconformityScores": lambda one, n: n["n"] == n["m"] + 1
    and bool((np.diff(one.sorted) >= 0).all() and (np.diff(one.above) <= 0).all()),
    "PoolParams": lambda one, n: set(one.rules) == {expert.name for expert in one.members}
    and set(one.mixing.names) <= set(one.rules),
    "Whiten": lambda one, n: _whitens(one),
    "Lift": lambda one, n: min(one.columns, one.half) >= 1 and one.given is not None
    and one.given.dtype == float and one.given.shape == (one.columns, one.half)
    and one.given.flags.c_contiguous and bool(np.isfinite(one.given).all()),
    "Expert": lambda one, n: callable(getattr(one.model, "spec", None)),
    "Candidate": lambda one, n: callable(getattr(one.model, "spec", None)),
    "Tokenizer": lambda one, n: _has_known_options(one),
    "HeldOutScores": lambda one, n: one.rows >= 0
    and bool(np.isfinite([one.rows, *one.scores.values(), *(one.log_density or ())]).all()),
    "Mixing": lambda one, n: 1 <= n["E"] == len(set(one.names)) == len(one.names)
    and are_distinct(one.classes),
}  # fmt: skip
