"""The kinds of errors and warnings, each with an example that causes it.

`python -m verosim.error_kinds` runs the examples and prints the page `docs/errors.md`, so the page
shows the messages as they are.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from verosim.errors import VerosimError, VerosimWarning

SETUP = """
import numpy as np
import verosim
from verosim import *

X = np.array([[1.0, 2.0], [1.5, 1.0], [4.0, 4.5], [5.0, 4.0], [4.5, 5.0], [0.5, 1.5]])
y = np.array(["low", "low", "high", "high", "high", "low"])
table = {
    "age": [20, 30, 40, 50],
    "city": ["Lima", "Lima", "Quito", "Quito"],
    "paid": ["no", "no", "yes", "yes"],
}
"""


@dataclass(frozen=True)
class ErrorKind:
    """A situation that causes an error or a warning."""

    name: str
    meaning: str
    example: str  # code that runs after SETUP and causes it


GROUPS: dict[str, tuple[ErrorKind, ...]] = {
    "Rows and columns": (
        ErrorKind(
            "Number of columns",
            "The rows do not have the columns that the model was fitted on.",
            "LDA().fit(X, y).predict(X[:, :1])",
        ),
        ErrorKind(
            "Number of labels",
            "There must be one label for each row.",
            "LDA().fit(X, y[:4])",
        ),
        ErrorKind(
            "No rows",
            "The table or array is empty.",
            "LDA().fit(X[:0], y[:0])",
        ),
        ErrorKind(
            "Missing value",
            "The model cannot skip a missing value. `NaiveBayes` and the naive models can. `LDA`, "
            '`QDA` and `RDA` need `missing="marginalise"`.',
            "LogisticRegression().fit([[1.0], [np.nan], [3.0]], [0, 0, 1])",
        ),
        ErrorKind(
            "Infinite value",
            "A cell is infinite, so means and variances do not exist.",
            "LDA().fit([[1.0, 2.0], [np.inf, 1.0], [3.0, 4.0]], [0, 0, 1])",
        ),
        ErrorKind(
            "Text where numbers are needed",
            "The model reads numbers, and a cell contains text.",
            'LDA().fit([["red", 1.0], ["blue", 2.0]], [0, 1])',
        ),
        ErrorKind(
            "Negative count",
            "Models of counts read 0, 1, 2 and so on.",
            "MultinomialNB().fit([[1, 2], [3, -1]], [0, 1])",
        ),
        ErrorKind(
            "Not a count",
            "A column that is described by a Poisson distribution holds another number.",
            'NaiveBayes(columns={"a": "poisson"}).fit({"a": [1, 2.5, 3], "y": [0, 0, 1]}, "y")',
        ),
    ),
    "Labels and classes": (
        ErrorKind(
            "Missing label",
            'Rows have no label. `unlabelled="skip"` leaves them out. `SemiSupervised` uses them.',
            'LDA().fit(X, ["a", None, "a", "b", "b", None])',
        ),
        ErrorKind(
            "Labels that are not classes",
            "No label is a class of the model. Labels of another type are matched if they are "
            "printed in the same way.",
            'LDA().fit(X, y).score(X, ["LOW", "LOW", "HIGH", "HIGH", "HIGH", "LOW"])',
        ),
        ErrorKind(
            "Label among the columns",
            "A column has one value for each class, in 20 rows or more.",
            """
            label = np.tile([0, 1, 1], 10)
            GaussianNB().fit(np.column_stack([np.arange(30), label]), label)
            """,
        ),
        ErrorKind(
            "Labels of two types",
            "Text and numbers cannot be labels of one model.",
            "LDA().fit(X, y).partial_fit(X, [1, 1, 2, 2, 2, 1])",
        ),
        ErrorKind(
            "Continuous labels",
            "The labels are numbers with fractions, as in a regression.",
            "LDA().fit(X, [0.1, 0.7, 0.2, 0.9, 0.4, 0.5])",
        ),
        ErrorKind(
            "One class only",
            "A linear model needs two classes. A generative model needs them in `fit` with a table "
            "and the name of its target; `partial_fit`, and `fit` with an array, accept one class.",
            'LogisticRegression().fit(X, ["low"] * 6)',
        ),
        ErrorKind(
            "Unknown class",
            "The label is not one of `classes_`.",
            'LDA().fit(X, y).sample(3, y="middle")',
        ),
        ErrorKind(
            "Not a density",
            "The model reads columns as features, so it has no density of the columns.",
            "LiftedLDA().fit(X, y).log_density(X)",
        ),
        ErrorKind(
            "Priors",
            "Priors are one number for each class, not negative, and their sum is 1.",
            "LDA(priors=[0.5, 0.6]).fit(X, y)",
        ),
        ErrorKind(
            "Weights",
            "A weight is negative or not finite.",
            "LDA().fit(X, y, sample_weight=[1, 1, -1, 1, 1, 1])",
        ),
    ),
    "Tables and files": (
        ErrorKind(
            "Column that does not exist",
            "The target, or another column named in a call, is not in the table.",
            'NaiveBayes().fit(table, "payed")',
        ),
        ErrorKind(
            "Kind of column",
            "A kind of column is not known.",
            'NaiveBayes(columns={"age": "normal"}).fit(table, "paid")',
        ),
        ErrorKind(
            "Value of another kind",
            "A column of numbers contains text when more rows are read.",
            """
            model = NaiveBayes().fit(table, "paid")
            model.predict({"age": ["unknown"], "city": ["Lima"]})
            """,
        ),
        ErrorKind(
            "Absent column",
            "The table to predict lacks a column of the fit. This warning needs 20 rows, or a "
            "column with nearly the same name.",
            """
            model = NaiveBayes().fit(table, "paid")
            model.predict({"Age": [25], "city": ["Lima"]})
            """,
        ),
        ErrorKind(
            "Unseen values",
            "A category column has far more values that were not seen at fit than expected.",
            """
            model = NaiveBayes().fit(table, "paid")
            model.predict({"age": [25] * 30, "city": ["LIMA"] * 30})
            """,
        ),
        ErrorKind(
            "First rows of a stream",
            "The first `partial_fit` fixes how columns are read. Give it a schema of more rows.",
            """
            model = NaiveBayes().partial_fit(table, "paid")
            model.partial_fit({**table, "plan": ["a", "b", "b", "a"]})
            """,
        ),
        ErrorKind(
            "File that does not exist",
            "The path has no file, or a pattern matches no file.",
            'NaiveBayes().fit("rows/*.csv", "paid")',
        ),
        ErrorKind(
            "Source that can be read only once",
            "The call needs the rows twice, and a stream gives them once.",
            "look(iter([table]))",
        ),
    ),
    "Settings": (
        ErrorKind(
            "Value of a setting",
            "A setting has a value that is not allowed.",
            'LDA(covariance="robust").fit(X, y)',
        ),
        ErrorKind(
            "Range of a setting",
            "A number is outside of its range.",
            "LDA(shrinkage=1.5).fit(X, y)",
        ),
        ErrorKind(
            "Setting changed after fit",
            "The sums depend on the setting, so the rows must be read again.",
            "HistogramNB(bins=2).fit(X, y).set_params(bins=3).predict(X)",
        ),
        ErrorKind(
            "Class instead of a model",
            "The call needs a model, and a class was given.",
            "cross_validate(LDA, X, y)",
        ),
        ErrorKind(
            "Model of another library",
            "The call needs sums, which only models of verosim have.",
            """
            from sklearn.ensemble import RandomForestClassifier
            cross_validate(RandomForestClassifier(), X, y)
            """,
        ),
    ),
    "Folds and scores": (
        ErrorKind(
            "Number of folds",
            "Cross-validation needs two folds or more.",
            "cross_validate(LDA(), X, y, cv=1)",
        ),
        ErrorKind(
            "More folds than rows",
            "A fold would have no rows.",
            "cross_validate(LDA(), X, y, cv=50)",
        ),
        ErrorKind(
            "Unknown score",
            "The name is not a scoring of scikit-learn.",
            'cross_validate(LDA(), X, y, cv=2, scoring="acuracy")',
        ),
        ErrorKind(
            "Unknown setting in a grid",
            "The grid names a setting that the model does not have.",
            'search(LDA(), X, y, {"alpha": [0.1, 1]}, cv=2)',
        ),
        ErrorKind(
            "Folds to compare models",
            "`auto` compares models by fold, so it needs folds.",
            'auto(X, y, cv="loo")',
        ),
        ErrorKind(
            "Score of held-out rows",
            "BIC is not a score of held-out rows.",
            'auto(X, y, scoring="bic")',
        ),
        ErrorKind(
            "One group",
            "Rows of one group are held out together, so there must be several groups.",
            "auto(X, y, groups=[1, 1, 1, 1, 1, 1])",
        ),
    ),
    "Merging and forgetting": (
        ErrorKind(
            "Not fitted",
            "The model has not read any rows.",
            "LDA().predict(X)",
        ),
        ErrorKind(
            "Different columns",
            "Models can be merged if they have the same columns.",
            "LDA().fit(X, y) + LDA().fit(X[:, :1], y)",
        ),
        ErrorKind(
            "Not a pool",
            "`like` takes the pool that `auto` returns, and gives a pool that can be merged with "
            "it.",
            "auto(X, y, like=LDA().fit(X, y))",
        ),
        ErrorKind(
            "Rows that were not read",
            "Only rows that the model was fitted on can be forgotten.",
            "MultinomialNB().fit([[1, 2], [3, 1]], [0, 1]).forget([[9, 9]], [0])",
        ),
        ErrorKind(
            "Decay factor",
            "The weights are multiplied by a number above 0 and up to 1.",
            "LDA().fit(X, y).decay(1.5)",
        ),
    ),
    "Numbers that are not enough": (
        ErrorKind(
            "Singular covariance",
            "A column is constant or a combination of others, so the covariance has no inverse.",
            """
            doubled = np.column_stack([X, 2 * X[:, 0]])
            LDA(on_singular="raise").fit(doubled, y)
            """,
        ),
        ErrorKind(
            "Singular covariance that was repaired",
            "The default is a warning: the covariance is shrunk until it has an inverse.",
            """
            doubled = np.column_stack([X, 2 * X[:, 0]])
            LDA().fit(doubled, y)
            """,
        ),
        ErrorKind(
            "Lost digits",
            "Very large values were forgotten, so few digits of the variance are correct.",
            """
            model = GaussianNB().fit(X, y).partial_fit(1e9 * X, y)
            model.forget(1e9 * X, y)
            """,
        ),
        ErrorKind(
            "No convergence",
            "A fit in steps was stopped before its result was stable.",
            "LogisticRegression(max_iter=1).fit(X * [1, 50], y)",
        ),
    ),
}


def caused(kind: ErrorKind) -> Warning | Exception:
    """The error or the first warning of verosim that the example causes."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            exec(dedent(kind.example), names)
        except VerosimError as error:
            return error
    ours = [one.message for one in found if isinstance(one.message, VerosimWarning)]
    if not ours:
        raise AssertionError(f"The example of {kind.name!r} causes nothing.")
    return ours[0] if isinstance(ours[0], Warning) else VerosimWarning(ours[0])


def page() -> str:
    """The page of errors, in Markdown."""
    parts = [INTRODUCTION]
    for group, kinds in GROUPS.items():
        parts.append(f"## {group}\n")
        for kind in kinds:
            found = caused(kind)
            code = dedent(kind.example).strip()
            parts.append(
                f"### {kind.name}\n\n{kind.meaning}\n\n```python\n{code}\n```\n\n"
                f"```text\n{type(found).__name__}: {found}\n```\n"
            )
    return "\n".join(parts)


INTRODUCTION = f"""# Errors and warnings

Every error of verosim is a `VerosimError`, which is a `ValueError`. Its message states what
happened, where, and what to do. Every warning is a `VerosimWarning`. This page lists the kinds,
each with an example and its message. An error leaves a fitted model as it was.

All examples start with this code:

```python
{SETUP.strip()}
```
"""


if __name__ == "__main__":
    print(page(), end="")
