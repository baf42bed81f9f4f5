"""Docstrings are complete: parameters as in the signature, attributes as on the fitted object."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass, fields, is_dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import verosim
import verosim.testing
from verosim.cached import cached_property

MODULES = [
    verosim,
    verosim.validate,
    verosim.twins,
    verosim.pool,
    verosim.insight,
    verosim.files,
    verosim.bayes,
    verosim.theory,
]
PUBLIC = {
    name: getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if not inspect.ismodule(getattr(module, name)) and name != "__version__"
}
LAWS = {name: getattr(verosim.testing, name) for name in verosim.testing.__all__}
CLASSES = {name: found for name, found in PUBLIC.items() if inspect.isclass(found)}
FUNCTIONS = {name: one for name, one in (PUBLIC | LAWS).items() if inspect.isfunction(one)}
ESTIMATORS = {name: found for name, found in CLASSES.items() if hasattr(found, "fit")}
METHODS = {
    f"{name}.{attribute}": getattr(found, attribute)
    for name, found in CLASSES.items()
    for attribute in dir(found)
    if not attribute.startswith("_")
    and callable(getattr(found, attribute))
    and getattr(inspect.unwrap(getattr(found, attribute)), "__module__", "").startswith("verosim")
}
NO_REFERENCE = {  # what no paper describes
    "ConvergenceWarning", "PrecisionWarning", "SingularWarning", "VerosimError", "VerosimWarning",
    "Schema", "look", "query", "read", "threads", "use_threads",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One parameter or attribute of a docstring."""

    name: str
    type: str
    text: str


def sections(doc: str) -> dict[str, str]:
    """The sections of a numpydoc docstring by title; the part before the first is "Summary"."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc + "\n", flags=re.MULTILINE)
    return {"Summary": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section: str) -> list[Entry]:
    """The entries of a Parameters or Attributes section: `name : type`, then indented text."""
    found = re.split(r"^(?=\S)", section.strip("\n"), flags=re.MULTILINE)
    out = []
    for part in filter(None, found):
        head, _, text = part.partition("\n")
        name, _, kind = head.partition(" : ")
        out.append(Entry(name.strip(), kind.strip(), inspect.cleandoc(text)))
    return out


def parameters(function) -> list[inspect.Parameter]:
    found = inspect.signature(function).parameters.values()
    return [one for one in found if one.name not in ("self", "cls")]


def check_parameters(function, doc: str) -> None:
    """The documented parameters are those of the signature, in order, with types and defaults."""
    documented = entries(sections(doc).get("Parameters", ""))
    wanted = parameters(function)
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    assert [one.name for one in documented] == [stars.get(p.kind, "") + p.name for p in wanted]
    for entry, parameter in zip(documented, wanted, strict=True):
        assert entry.type, f"{entry.name} has no type"
        assert entry.text, f"{entry.name} has no description"
        assert not re.search(r"\b[Aa]s (in|of|for) ", entry.type), f"{entry.name}: say it here"
        if parameter.default is inspect.Parameter.empty:
            assert "default" not in entry.type, f"{entry.name} has no default"
        else:
            stated = re.search(r"default=(.+)$", entry.type)
            assert stated, f"{entry.name}: the default is not stated"
            assert same_default(stated[1], parameter.default), f"{entry.name}: another default"


def same_default(stated: str, default) -> bool:
    if default is None or isinstance(default, bool | int | float | str | tuple):
        return ast.literal_eval(stated) == default
    return stated == getattr(default, "__name__", repr(default))


def summary(doc: str) -> str:
    return doc.strip().partition("\n")[0]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_a_summary_and_an_example(name):
    doc = inspect.getdoc(PUBLIC[name]) or ""
    assert re.fullmatch(r"\S.*[.:]", summary(doc)), "the summary is one line that ends with a stop"
    found = sections(doc)
    assert ">>> " in found.get("Examples", ""), "no example"
    if name not in NO_REFERENCE:
        assert found.get("References", "").strip(), "no reference"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    doc = inspect.getdoc(FUNCTIONS[name]) or ""
    check_parameters(FUNCTIONS[name], doc)
    returns = inspect.signature(FUNCTIONS[name]).return_annotation
    assert returns in (None, "None") or "Returns" in sections(doc), "what it returns is not said"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_of_estimators(name):
    check_parameters(ESTIMATORS[name].__init__, inspect.getdoc(ESTIMATORS[name]) or "")


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    doc = inspect.getdoc(METHODS[name]) or ""
    assert re.fullmatch(r"\S.*[.:]", summary(doc)), "the summary is one line that ends with a stop"
    check_parameters(METHODS[name], doc)


TEXTS = ["a cheap offer", "cheap cheap pills", "see you at lunch", "lunch at noon?"]
COUNTS = {"MultinomialNB", "ComplementNB"}


@cache
def fitted(name: str) -> tuple:
    """The estimator fitted on an array and, where it can be, on a data frame and a table."""
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    make = ESTIMATORS[name]
    if name in ("TextNB", "TextPool", "TextRidge"):
        texts = pd.Series(TEXTS, name="text")
        table = pd.DataFrame({"text": TEXTS, "y": [1, 1, 0, 0]})
        return (
            make().fit(TEXTS, [1, 1, 0, 0]),
            make().fit(texts, table["y"]),
            make().fit(table, "y"),
        )
    if name == "SemiSupervised":
        y = np.where(np.arange(150) % 3 == 0, -1, y)
    if name in ("CategoricalNB", "JointHistogram"):
        frame = frame[["a", "b"]].round()
    if name == "Twin":
        return verosim.twin(verosim.LDA().fit(frame, y)), verosim.twin(verosim.LDA().fit(frame, y))
    if inspect.signature(make).parameters.keys() & {"estimator", "model"}:
        return make(verosim.LDA()).fit(X, y), make(verosim.LDA()).fit(frame, y)
    if name == "LogisticRegression":  # its curves exist for this solver only
        return make().fit(X, y), make(solver="sgd").fit(frame, y)
    models = [make().fit(frame.to_numpy(), y), make().fit(frame, y)]
    if hasattr(make, "schema_") and name != "SemiSupervised":
        models.append(make().fit(frame.assign(y=y), "y"))
    if hasattr(make, "convergence_") and "missing" in inspect.signature(make).parameters:
        models.append(make(missing="marginalise").fit(frame.mask(frame > 7), y))
    if "encode" in inspect.signature(make).parameters:
        models.append(make(encode="onehot").fit(frame, y))
    return tuple(models)


def public_attributes(model) -> set[str]:
    """Attributes of a fitted model: those that end with an underscore."""
    return {one for one in dir(model) if re.fullmatch(r"[a-zA-Z]\w*[a-z0-9]_", one)}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_attributes_of_estimators(name):
    documented = entries(sections(inspect.getdoc(ESTIMATORS[name])).get("Attributes", ""))
    for entry in documented:
        assert entry.type, f"{entry.name} has no type"
        assert entry.text, f"{entry.name} has no description"
    models = fitted(name)
    exist = {one for model in models for one in public_attributes(model) if hasattr(model, one)}
    assert {entry.name for entry in documented} == exist - {"state_"}


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in ESTIMATORS])
def test_attributes_of_results(name):
    found = CLASSES[name]
    if issubclass(found, Exception):
        return
    if is_dataclass(found):
        wanted = {one.name for one in fields(found)}
    else:
        wanted = set(getattr(found, "_fields", ()))
    wanted |= {
        one
        for one in dir(found)
        if isinstance(inspect.getattr_static(found, one), property | cached_property)
    }
    wanted = {one for one in wanted if not one.startswith("_")}
    documented = entries(sections(inspect.getdoc(found)).get("Attributes", ""))
    assert all(entry.type and entry.text for entry in documented)
    assert {entry.name for entry in documented} == wanted
