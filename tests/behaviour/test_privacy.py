"""What is ignored or forgotten is gone: the bytes of models and schemas are searched for it.

Every public class with `fit` is covered, also those that are added later. Each is fitted on the
widest of some tables that it can read.
"""

from __future__ import annotations

import gc
import inspect
import json
import pickle
import struct
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import verosim
from verosim import (
    AODE,
    KDB,
    LDA,
    QDA,
    RDA,
    TAN,
    Calibrated,
    CategoricalNB,
    Conformal,
    LiftedLDA,
    NaiveBayes,
    Pool,
    TextNB,
    TextPool,
    TextRidge,
    VerosimError,
)
from verosim.axes.value_hashes import hashes_of, value_hash
from verosim.estimators.statistic_classifier import StatisticClassifier
from verosim.testing import assert_same
from verosim.validate.wrapper import Wrapper

pytestmark = pytest.mark.filterwarnings("ignore")

N = 90
SECRET = "zyxwqj"  # a part of every value that must be gone, and of no other text
NUMBER = 776655.125  # the same for numbers
FORGOTTEN = slice(0, 3)
WORDS = ["win", "cash", "call", "home", "now", "today", "free", "meet"]

Table = dict[str, list[Any]]


# The tables ------------------------------------------------------------------------------------


def _table(seed: int = 0) -> Table:
    """A column of every kind, without secrets."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % 2
    return {
        "age": (rng.normal(40, 10, N) + 5 * y).tolist(),
        "whole": rng.poisson(4, N).tolist(),
        "amount": [f"{v:,.2f} kg" for v in rng.uniform(1000, 9000, N)],
        "flag": rng.choice(["true", "false"], N).tolist(),
        "when": [f"{d:02d}/12/2024" for d in rng.integers(13, 29, N)],
        "hue": rng.choice(["red", "blue", "green"], N).tolist(),
        "user": [f"user {i}" for i in np.minimum(rng.zipf(1.5, N), 40)],
        "text": [" ".join(rng.choice(WORDS, 6)) for _ in range(N)],
        "y": [("no", "yes")[k] for k in y],
    }


def _with_ignored() -> Table:
    """Columns to ignore, of every kind, with secrets in all of their cells."""
    secrets: Table = {
        "ssn": [f"{SECRET}-{i:05d}" for i in range(N)],  # an identifier
        "nick": [f"{SECRET}{i % 4}" for i in range(N)],
        "same": [SECRET] * N,
        "codes": [f"{i}" if i else SECRET for i in range(N)],  # nearly numbers
        "cost": [f"{i * 1.5:.2f} €" if i else SECRET for i in range(N)],
        "note": [f"tell {SECRET}{i} to call home now" for i in range(N)],
        "salary": [NUMBER + i % 7 for i in range(N)],
        "units": [f"{i}.5 {SECRET if i % 2 else 'lb'}" for i in range(N)],
        "day": [f"{i % 28 + 1:02d}/12/2024" if i else SECRET for i in range(N)],
    }
    return {**secrets, **_table()}


def _with_forgotten() -> Table:
    """The first rows have values and a label that no other row has."""
    table = _table()
    table["hue"][:3] = [SECRET, f"{SECRET} street", SECRET]
    table["user"][:3] = [f"{SECRET}{i}" for i in range(3)]
    table["amount"][0] = f"ask {SECRET}"
    table["when"][1] = f"{SECRET} day"
    table["text"][:3] = [f"{word} call {SECRET} now {SECRET}s" for word in ("win", "meet", "win")]
    table["y"][:3] = [f"{SECRET} label"] * 3
    return table


def _part(table: Table, at: slice | np.ndarray) -> Table:
    rows = range(N)[at] if isinstance(at, slice) else at
    return {name: [cells[i] for i in rows] for name, cells in table.items()}


# The models ------------------------------------------------------------------------------------

PUBLIC = [
    name
    for name in verosim.__all__
    if inspect.isclass(getattr(verosim, name)) and hasattr(getattr(verosim, name), "fit")
]


def _made(name: str) -> list[Any]:
    """Models of a public class. A wrapper gets models inside."""
    make = getattr(verosim, name)
    given = list(inspect.signature(make).parameters.values())
    if given and given[0].default is inspect.Parameter.empty:
        inside = [NaiveBayes(), LDA(), TextNB(), verosim.LeastSquares()]
        return [make(model) for model in inside]
    more = [make(encode=how) for how in ("onehot", "normal")] if "encode" in {
        one.name for one in given} else []  # fmt: skip
    return [make(), *more]


MODELS = {
    f"{name} {i}" if i else name: model for name in PUBLIC for i, model in enumerate(_made(name))
}
MODELS |= {
    "NaiveBayes with a cap": NaiveBayes(max_categories=5),
    "NaiveBayes with missing": NaiveBayes(missing="category"),
    "TextNB l2": TextNB(weighting="l2", ngrams=(1, 2)),
    "TextNB characters": TextNB(analyzer="char_wb", ngrams=(3, 5)),
    "TextNB buckets": TextNB(hashed=2**10),
    "Calibrated columns": Calibrated(NaiveBayes(), method="columns"),
    "Calibrated pairs": Calibrated(NaiveBayes(), method="pairs"),
    "Calibrated TAN": Calibrated(TAN()),
    "Pool of all": Pool([AODE(), TAN(), LDA(encode="onehot"), LiftedLDA()]),
}
NUMBERS, TEXTS = ("age", "whole"), ("text",)
SUBSETS = {
    "all": (*NUMBERS, "amount", "flag", "when", "hue", "user", "text"),
    "no text": (*NUMBERS, "amount", "flag", "when", "hue", "user"),
    "texts": TEXTS,
    "numbers": NUMBERS,
}


def _fresh(case: str) -> Any:
    return pickle.loads(pickle.dumps(MODELS[case]))


def _fitted(case: str, table: Table, also: tuple[str, ...] = ()) -> tuple[Any, Table]:
    """A fitted model, and the widest part of the table that it can read.

    The columns `also` are ignored, or left out if the model reads arrays only.
    """
    for names in SUBSETS.values():
        part = {name: table[name] for name in (*also, *names, "y")}
        schema = verosim.look(part, "y", max_categories=getattr(
            MODELS[case], "max_categories", 1000)).edit(dict.fromkeys(also, "ignore"))  # fmt: skip
        tries = [
            lambda part=part, schema=schema: _fresh(case).fit(part, "y", schema=schema),
            lambda part=part: _fresh(case).fit(part, "y"),
        ]
        if len(names) == 1:  # a list of texts
            tries = [tries[0], lambda names=names: _fresh(case).fit(table[names[0]], table["y"])]
        elif names == NUMBERS:
            X = np.column_stack([table[name] for name in names])
            tries.append(lambda X=X: _fresh(case).fit(X, table["y"]))
        for fit in tries if not also else tries[::2] or tries[:1]:
            try:
                return fit(), part
            except (VerosimError, ValueError, TypeError):
                continue
    if case[-1].isdigit():  # a model that the wrapper does not accept
        pytest.skip("no table for this model")
    raise AssertionError(f"{case} can read none of the tables")


# Where a value may be --------------------------------------------------------------------------


def _walked(root: Any) -> Iterator[Any]:
    """All objects that a model refers to, directly or not. Classes and functions are left out."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        one = stack.pop()
        if id(one) in seen or isinstance(one, type | types.ModuleType | types.FunctionType):
            continue
        seen.add(id(one))
        yield one
        stack += gc.get_referents(one)
        if isinstance(one, np.ndarray):
            stack += one.ravel().tolist() if one.dtype == object else [one.base]


def _raw(one: Any) -> bytes:
    if isinstance(one, str):
        return one.encode("utf-8", "surrogatepass")
    if isinstance(one, float):
        return struct.pack("<d", one)
    if isinstance(one, np.ndarray) and one.dtype != object:
        return one.tobytes()
    return bytes(one) if isinstance(one, bytes | bytearray) else b""


def _places(model: Any, tmp_path: Any) -> dict[str, bytes]:
    """The bytes of a model: stored, shown and in memory."""
    out = {
        "pickle": pickle.dumps(model),
        "file": verosim.dumps(model),
        "file without sums": verosim.dumps(model, statistics=False),
        "repr": repr(model).encode(),
        "attributes": repr(vars(model)).encode(),
        "memory": b"\0".join(filter(None, map(_raw, _walked(model)))),
    }
    inside = getattr(model, "model_", model)
    schema = getattr(inside, "schema_", None)
    if schema is not None:
        schema.save(tmp_path / "schema.json")
        out["schema"] = str(schema).encode() + pickle.dumps(schema)
        out["saved schema"] = (tmp_path / "schema.json").read_bytes()
    return out


def _found(model: Any, tmp_path: Any, secret: str = SECRET) -> list[str]:
    """Where the secret is, in any encoding."""
    forms = [secret.encode(code) for code in ("utf-8", "utf-16-le", "utf-32-le")]
    places = _places(model, tmp_path)
    return [place for place, raw in places.items() if any(one in raw.lower() for one in forms)]


# Ignored columns -------------------------------------------------------------------------------

IGNORED = tuple(name for name in _with_ignored() if name not in _table())


@pytest.mark.slow
@pytest.mark.parametrize("case", MODELS)
def test_no_value_of_an_ignored_column_is_in_the_model(case, tmp_path):
    table = _with_ignored()
    model, _ = _fitted(case, table, IGNORED)
    assert not _found(model, tmp_path)
    number = struct.pack("<d", NUMBER)
    assert not [place for place, raw in _places(model, tmp_path).items() if number in raw]


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [NaiveBayes(), TAN(), AODE(), Pool([TAN(), NaiveBayes()])], ids=repr
)
def test_columns_ignored_by_the_model_are_not_in_it(model, tmp_path):
    given = pickle.loads(pickle.dumps(model)).set_params(columns=dict.fromkeys(IGNORED, "ignore"))
    assert not _found(given.fit(_with_ignored(), "y"), tmp_path)


def test_a_look_does_not_show_values_of_columns_that_it_ignores(tmp_path):
    table = {name: _with_ignored()[name] for name in ("ssn", "units")}
    schema = verosim.look(table)
    assert [column.role for column in schema] == ["ignored", "ignored"]
    schema.save(tmp_path / "schema.json")
    for raw in (str(schema), repr(schema.columns), (tmp_path / "schema.json").read_text()):
        assert SECRET not in raw


def test_groups_are_not_in_a_calibrated_model(tmp_path):
    table = {**_table(), "customer": [f"{SECRET}{i // 3}" for i in range(N)]}
    model = Calibrated(NaiveBayes(), cv=3).fit(table, "y", groups="customer")
    assert not _found(model, tmp_path)


# Forgotten rows --------------------------------------------------------------------------------


def _forgets(case: str) -> bool:
    """Whether rows can be removed from the model or from the model inside a wrapper."""
    model = MODELS[case]
    if isinstance(model, Conformal):
        return False  # its model inside is fitted on a part of the rows
    if hasattr(model, "forget"):
        return True
    return isinstance(model, Wrapper) and hasattr(model.model, "forget")


FORGETTING = [case for case in MODELS if _forgets(case)]


def _without(model: Any, table: Table) -> Any:
    """The model without the first rows."""
    rows = _part(table, FORGOTTEN)
    one = model if hasattr(model, "forget") else model.model_
    if hasattr(one, "schema_") or isinstance(one, Calibrated):
        one.forget(rows, "y")
    elif set(table) == {"text", "y"}:
        one.forget(rows["text"], rows["y"])
    else:
        one.forget(np.column_stack([rows[name] for name in NUMBERS]), rows["y"])
    return model


@pytest.mark.slow
@pytest.mark.parametrize("case", FORGETTING)
def test_no_value_of_forgotten_rows_is_in_the_model(case, tmp_path):
    model, table = _fitted(case, _with_forgotten())
    assert _found(model, tmp_path)  # the label, at least
    assert not _found(_without(model, table), tmp_path)


def test_most_classes_can_forget():
    own = [c for c in MODELS if isinstance(MODELS[c], StatisticClassifier) and c != "MDA"]
    assert set(own) <= set(FORGETTING)


WITH_VALUES = [  # the other models read only numbers
    case
    for case in FORGETTING
    if case.startswith(("NaiveBayes", "Categ", "Text", "Cal", "Pool"))
    or type(MODELS[case]) in (AODE, KDB, TAN, LiftedLDA)
    or getattr(MODELS[case], "encode", None)
]


@pytest.mark.slow
@pytest.mark.parametrize("case", WITH_VALUES)
def test_a_model_works_on_after_its_values_are_gone(case, tmp_path):
    """Predicting, adding and merging rows, also with values that were removed."""
    model, table = _fitted(case, _with_forgotten())
    other = _fresh(case)
    rows = _part(table, FORGOTTEN)
    schema = getattr(model, "model_", model).schema_
    other = other.fit(_part(table, slice(10, 60)), "y", schema=schema)
    _without(model, table)
    first = model.predict_proba(rows)
    assert np.isfinite(first).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(rows), first)
    if not isinstance(model, Pool | TextPool):
        both = model + other
        assert both.predict(rows).shape == (3,)
        assert not _found(both, tmp_path)
    again.partial_fit(rows, "y")
    assert _found(again, tmp_path)
    assert not _found(_without(again, table), tmp_path)


@pytest.mark.parametrize("weights", [None, "w"])
def test_the_rest_is_the_model_of_the_other_rows(weights):
    """Values that are gone do not change what remains: the sums are those of the other rows."""
    table = {**_with_forgotten(), "w": np.random.default_rng(1).uniform(0.1, 3, N).tolist()}
    if weights is None:
        del table["w"]
    schema = verosim.look(table, "y", sample_weight=weights)
    model = NaiveBayes().fit(table, "y", weights, schema=schema)
    model.forget(_part(table, FORGOTTEN), "y", weights)
    rest = NaiveBayes().fit(_part(table, slice(3, N)), "y", weights, schema=schema)
    assert model.classes_.tolist() == rest.classes_.tolist()
    rows = {name: cells for name, cells in table.items() if name != "y"}
    np.testing.assert_allclose(model.predict_proba(rows), rest.predict_proba(rows), atol=1e-9)
    for a, b in zip(model.stats_.leaves(), rest.stats_.leaves(), strict=True):
        if a.axes.codes is not None:
            assert a.axes.codes.size == b.axes.codes.size


def test_classes_that_were_declared_stay(tmp_path):
    table = _with_forgotten()
    model = NaiveBayes().partial_fit(_part(table, slice(3, N)), "y", classes=["no", "yes", SECRET])
    model.partial_fit(_part(table, slice(3, 20)), "y").forget(_part(table, slice(3, 20)), "y")
    assert SECRET in model.classes_.tolist()


def test_values_in_arrays_are_forgotten(tmp_path):
    X = np.array([["red", 1], ["blue", 2], [SECRET, 3]] * 5, dtype=object)
    y = ["a", "b", f"{SECRET} label"] * 5
    model = CategoricalNB().fit(X, y)
    assert _found(model, tmp_path)
    assert not _found(model.forget(X[2::3], y[2::3]), tmp_path)
    assert model.categories_ == [["blue", "red"], [1, 2]]


def test_a_text_that_is_read_as_missing_stays_missing_after_forget():
    table = _with_forgotten()
    model = NaiveBayes().fit(table, "y")
    assert f"ask {SECRET}" in model.schema_["amount"].missing
    model.forget(_part(table, FORGOTTEN), "y")
    assert model.schema_["amount"].missing == ()
    assert model.schema_["amount"].unread == (value_hash(f"ask {SECRET}"),)
    model.predict({"amount": [f"ask {SECRET}", "2,000.00 kg"]})
    with pytest.raises(VerosimError, match="'ask Ana' is not a number"):
        model.predict({"amount": ["ask Ana"]})


# Hashes ----------------------------------------------------------------------------------------


def test_frequent_values_are_hashes_and_only_of_columns_over_their_cap(tmp_path):
    table = {"few": ["a", "b", "c"] * 20, "many": [f"{SECRET}{i % 12}" for i in range(60)]}
    schema = verosim.look(table, max_categories=5)
    assert schema["few"].frequent == ()
    assert len(schema["many"].frequent) == 5
    assert set(schema["many"].frequent) <= {value_hash(text) for text in table["many"]}
    schema.save(tmp_path / "schema.json")
    assert SECRET not in (tmp_path / "schema.json").read_text()
    assert verosim.Schema.load(tmp_path / "schema.json") == schema


def test_models_of_parts_merge_by_the_hashes():
    rng = np.random.default_rng(0)
    table = {"u": [f"u{i}" for i in rng.zipf(1.4, 400)], "y": rng.choice(["a", "b"], 400).tolist()}
    schema = verosim.look(table, "y", max_categories=8)
    settings = {"max_categories": 8}
    parts = [{k: v[i::2] for k, v in table.items()} for i in (0, 1)]
    halves = [NaiveBayes(**settings).fit(part, "y", schema=schema) for part in parts]
    whole = NaiveBayes(**settings).fit(table, "y", schema=schema)
    assert_same((halves[0] + halves[1]).stats_, whole.stats_)
    kept = whole.stats_.parts["category"].axes.codes.values[0]
    assert {value_hash(text) for text in kept} >= set(schema["u"].frequent)


def test_a_schema_of_an_older_version_is_read_without_its_values(tmp_path):
    table = {"u": [f"{SECRET}{i % 12}" for i in range(60)], "v": [SECRET, "b"] * 30}
    verosim.look(table, max_categories=5).save(tmp_path / "schema.json")
    raw = json.loads((tmp_path / "schema.json").read_text())
    raw["version"] = 2
    texts = [f"{SECRET}{i}" for i in range(5)]
    raw["columns"][0]["frequent"], raw["columns"][1]["frequent"] = texts, [SECRET, "b"]
    (tmp_path / "schema.json").write_text(json.dumps(raw))
    schema = verosim.Schema.load(tmp_path / "schema.json")
    assert schema["u"].frequent == hashes_of(texts)
    assert schema["v"].frequent == ()


# Pruning ---------------------------------------------------------------------------------------

PRUNED = {
    "NaiveBayes": NaiveBayes(),
    "NaiveBayes with a cap": NaiveBayes(max_categories=5),
    "CategoricalNB": CategoricalNB(),
    "AODE": AODE(),
    "TAN": TAN(),
    "LDA": LDA(encode="onehot"),
    "QDA": QDA(encode="onehot", shrinkage=0.5),
    "RDA": RDA(encode="normal"),
    "LiftedLDA": LiftedLDA(),
    "TextNB": TextNB(),
    "TextNB l2": TextNB(weighting="l2"),
    "TextRidge": TextRidge(),
    "Pool": Pool([NaiveBayes(), TAN()]),
    "TextPool": TextPool(),
    "Calibrated": Calibrated(NaiveBayes()),
}


def _rare(case: str) -> Table:
    table = {**_with_forgotten(), "y": _table()["y"]}
    names = TEXTS if case.startswith("Text") else SUBSETS["all"]
    left_out = TEXTS if case == "CategoricalNB" else ()
    return {name: table[name] for name in (*names, "y") if name not in left_out}


@pytest.mark.slow
@pytest.mark.parametrize("case", PRUNED)
def test_rare_values_are_pruned_from_every_model_with_values(case, tmp_path):
    table = _rare(case)
    model = pickle.loads(pickle.dumps(PRUNED[case])).fit(table, "y")
    assert _found(model, tmp_path)
    before = model.predict_proba(table)
    model.prune(7)
    assert not _found(model, tmp_path)
    if case in ("AODE", "TAN", "LDA", "QDA", "RDA", "LiftedLDA"):  # only the names are gone
        np.testing.assert_array_equal(model.predict_proba(table), before)
    if case in ("TextRidge", "TextPool"):
        with pytest.raises(VerosimError, match="cannot be forgotten after terms were pruned"):
            model.forget(_part(table, FORGOTTEN), "y")
        return
    model.forget(_part(table, FORGOTTEN), "y")
    model.partial_fit(_part(table, FORGOTTEN), "y")
    assert model.predict(table).shape == (N,)


def test_pruned_categories_count_as_missing():
    hues = ["red"] * 6 + ["blue"] * 6 + ["teal"]
    y = ["a", "b"] * 6 + ["a"]
    model = NaiveBayes().fit({"hue": hues, "y": y}, "y").prune(2)
    other = NaiveBayes().fit({"hue": [*hues[:-1], None], "y": y}, "y")
    rows = {"hue": ["red", "blue", "teal"]}
    np.testing.assert_allclose(model.predict_proba(rows), other.predict_proba(rows))
    model.forget({"hue": ["teal"], "y": ["a"]}, "y")
    assert model.class_count_.tolist() == [6, 6]
    with pytest.raises(VerosimError, match="more would be forgotten"):
        model.forget({"hue": ["red"] * 5, "y": ["b"] * 5}, "y")


def test_a_model_without_values_cannot_be_pruned():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(VerosimError, match="This LDA has no categories or tokens"):
        LDA().fit(X, [0, 1] * 10).prune(2)
