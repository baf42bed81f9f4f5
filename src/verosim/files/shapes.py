"""The shapes of the arrays of a record: each letter has one size.

    "f C d"   floats of shape (C, d),   "b d"   booleans,   "i G"   whole numbers

A letter in a part of a record has the same size as in the record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verosim.axes import Codes, Columns
from verosim.axes.contexts import ContextCodes
from verosim.data.tokens import WEIGHTINGS
from verosim.stats.plain_trees import damaged
from verosim.stats.state_checks import check_options

ARRAY_KINDS = {"f": np.float64, "b": np.bool_, "i": np.int64}

# By the name of the class. Letters: C classes, d columns, K codes, J codes of cells, m features.
SHAPES: dict[str, dict[str, str]] = {
    "LinearForm": {"pivot": "f d", "centre": "f d", "coef": "f C d", "bias": "f C"},
    "LinearScores": {"form": ". d", "mean": "f d"},
    "OneHotScores": {"form": ". C d", "mean": "f d"},
    "Inverse": {"root": "f r d", "null": "f d s"},
    "Certain": {"zero": "b d C", "one": "b d C"},
    "ColumnParams": {"table": "f d C", "absent": "f a C", "length": "f C", "certain": ". d C"},
    "ComplementParams": {
        "table": "f d C", "absent": "f a C", "length": "f C", "certain": ". d C", "own": "f d C"
    },
    "DiagonalParams": {
        "pivot": "f C d", "offset": "f C d", "variance": "f C d", "share": "f C",
    },
    "FullParams": {
        "pivot": "f C d", "offset": "f C d", "covariance_": "f k d d", "whitener": "f k d d",
        "log_det": "f k", "share": "f C", "used": "b d",
    },
    "Covariances": {
        "pivot": "f C d", "offset": "f C d", "covariance": "f k d d", "share": "f C", "used": "b d",
    },
    "PoissonParams": {"rate": "f C d"},
    "CodeParams": {"codes": ". K d", "table": "f T C", "kinds": "* d", "skipped": "b K"},
    "BinParams": {"codes": ". K d", "table": "f T C", "kinds": "* d", "skipped": "b K"},
    "CellParams": {"codes": ". K d", "table": "f T C", "kinds": "* e", "skipped": "b K"},
    "OneDependenceParams": {
        "codes": ". J d", "log_parent": "f J C", "log_child": "f J J C", "log_weight": "f d",
        "known": "b J",
    },
    "ContextParams": {
        "codes": ". J d", "contexts": ". d", "keys": "i K", "table": "f K C",
    },
    "Interactions": {"codes": ". J d", "columns": ". d", "first": "i q", "table": "f K C"},
    "PairScores": {"log_share": "f J C", "interactions": ". C J d", "log_prior": "f C"},
    "TextParams": {"codes": ". K", "tokens": ". C"},
    "TermScores": {"coef": "f C K", "bias": "f C", "vocabulary": ". K"},
    "MarginScores": {"coef": "f C K", "bias": "f C", "idf": "f K", "vocabulary": ". K"},
    "LiftedScores": {"form": ". C"},
    "MixtureParams": {"components": ". d", "owner": "i G", "log_share": "f G"},
    "PoolParams": {"log_shares": "f C", "rules": ". C"},
    "ProductParams": {"parts": ". C"},
    "PairedParams": {"parts": ". C", "interactions": ". C"},
    "Decision": {"log_prior": "f C", "params": ". C d"},
    "Rule": {"log_prior": "f C", "params": ". C d"},
    "Deviations": {"coef": "f C m", "bias": "f C", "scale": "f m", "pivot": "f d", "centre": "f d"},
    "Indicators": {"coef": "f C m", "bias": "f C", "scale": "f m"},
    "TokenAmounts": {"coef": "f C m", "bias": "f C", "scale": "f m"},
    "SideBySide": {"coef": "f C m", "bias": "f C", "scale": "f m"},
    "PerceptronCourse": {"theta": "f k e", "late": "f k l"},
    "FourierMap": {
        "mean": "f d", "variance": "f d", "scale": "f d", "frequencies": "f d D", "offsets": "f D",
    },
    "ColumnWeights": {"weights": "f d", "offsets": "f C", "pair_weights": "f P"},
    "Mixing": {"temperatures": "f E", "exponents": "f E", "weights": "f E", "offsets": "f C"},
    "NonconformityScores": {"sorted": "f m", "above": "f n"},
    "Reliability": {"confidence": "f B", "accuracy": "f B", "weight": "f B"},
    "LengthMap": {"offsets": "f C"},
    "Convergence": {"log_likelihood": "f n"},
}  # fmt: skip
SIZES_IN_FIELDS = {"MixtureParams": {"C": "classes"}}  # sizes that are not those of arrays
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
        value = getattr(one, name)
        if value is None:
            continue
        mark, *letters = text.split()
        for inside in value.values() if isinstance(value, dict) else [value]:
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


def check_shapes(one: Any) -> None:
    """Raise an error unless the arrays of a record fit each other."""
    sizes = sizes_of(one)
    more = FURTHER_CHECKS.get(type(one).__name__)
    if more is not None and not more(one, sizes):
        raise damaged(f"{type(one).__name__} has parts that do not fit each other")


def _has_known_options(one: Any) -> bool:
    check_options(vars(one))
    return True


def _rows_of_tokens(one: Any) -> int:
    return len(one.tokens.table)


FURTHER_CHECKS: dict[str, Any] = {
    "Decision": lambda one, n: type(one.params).__name__ != "LinearScores"
    or len(one.params.form.bias) in ((1, 2) if n["C"] == 2 else (n["C"],)),
    "ColumnParams": lambda one, n: n["a"] in (0, n["d"]),
    "ComplementParams": lambda one, n: n["a"] in (0, n["d"]),
    "Covariances": lambda one, n: n["k"] == (1 if one.shared else n["C"]),
    "FullParams": lambda one, n: n["k"] == (1 if one.shared else n["C"]),
    "CodeParams": lambda one, n: n["T"] == n["K"] + n["d"],
    "BinParams": lambda one, n: n["T"] >= n["K"],
    "CellParams": lambda one, n: n["T"] >= n["K"],
    "TextParams": lambda one, n: _rows_of_tokens(one) >= n["K"] and one.weighting in WEIGHTINGS,
    "LiftedScores": lambda one, n: one.form.coef.shape[1] == one.lift.features,
    "MixtureParams": lambda one, n: len(one.components.share) == n["G"]
    and bool((np.diff(one.owner) >= 0).all())
    and one.owner[0] >= 0 and one.owner[-1] == one.classes - 1
    and len(one.fitted) == one.classes,
    "Interactions": lambda one, n: n["q"] == len(one.pairs) + 1
    and all(0 <= i < j < n["d"] for i, j in one.pairs)
    and one.first[0] == 0 and one.first[-1] == n["K"]
    and all(
        size == one.codes.sizes[i] * one.codes.sizes[j]
        for size, (i, j) in zip(np.diff(one.first).tolist(), one.pairs, strict=True)
    ),
    "PerceptronCourse": lambda one, n: n["l"] in (0, n["e"]),
    "NonconformityScores": lambda one, n: n["n"] == n["m"] + 1,
    "PoolParams": lambda one, n: set(one.rules) == {expert.name for expert in one.members},
    "Lift": lambda one, n: min(one.columns, one.half) >= 1 and one.given is not None
    and one.given.dtype == float and one.given.shape == (one.columns, one.half)
    and one.given.flags.c_contiguous,
    "Expert": lambda one, n: callable(getattr(one.model, "spec", None)),
    "Candidate": lambda one, n: callable(getattr(one.model, "spec", None)),
    "Tokenizer": lambda one, n: _has_known_options(one),
    "HeldOutScores": lambda one, n: one.rows >= 0
    and bool(np.isfinite([one.rows, *one.scores.values(), *(one.log_density or ())]).all()),
    "Mixing": lambda one, n: n["E"] == len(one.names) and n["C"] == len(one.classes)
    and len(set(one.classes.tolist())) == n["C"],
}  # fmt: skip
