"""The models of the quality benchmark: a registry by short names.

A model has two steps. `prepare` gives the columns the form that the library asks for and is not
timed. `fit` is timed. All models have default settings, apart from two threads, fixed seeds, and
more iterations for logistic regression. A model that does not exist in the installed libraries is
left out with the reason.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import verosim
from benchmarks.tables import pipelines

THREADS = 2  # for every model, unless the command asks for another number
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip
TARGET = "(target)"  # the name of the column of labels for models that read whole tables
MOST_CATEGORIES = 254  # HistGradientBoosting refuses more
NO_EARLY_STOPPING = "early stopping off, because a class has one training row"
Frames = tuple[Any, Any]  # training and test rows, as the model reads them


@dataclass(frozen=True)
class Model:
    """One model of the comparison."""

    key: str  # its name in the command line and in the cache
    label: str  # its name on the page
    call: str  # how it is called, for the page
    fit: Callable[[Any, np.ndarray], Any]  # prepared rows and labels → fitted classifier
    prepare: Callable[[pd.DataFrame, np.ndarray, pd.DataFrame], Frames]
    kind: str  # "auto", "expert", "boosting" or "pipeline"
    warm_rows: int = 100  # rows of the untimed first fit
    tempered: bool = False  # also with a temperature

    @property
    def variants(self) -> tuple[str, ...]:
        """The keys of its results."""
        return (self.key, with_temperature(self.key)) if self.tempered else (self.key,)


def with_temperature(key: str) -> str:
    return f"{key}+temperature"


def use_threads(count: int) -> None:
    """Set the number of threads of the processes that are started from now on."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(count)))


def threads() -> int:
    return int(os.environ.get(THREAD_VARIABLES[0], THREADS))


# verosim -----------------------------------------------------------------------------------------


def with_target(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> Frames:
    return X.assign(**{TARGET: y}), new


AUTO: dict[str, dict[str, Any]] = {
    "auto-fast": {"effort": "fast"}, "auto": {}, "auto-max": {"effort": "max"},
    "auto-simple": {"simple": True},
}  # fmt: skip


def chosen(key: str, frame: pd.DataFrame) -> Any:
    """The result of `auto` with one of its settings."""
    return verosim.auto(frame, TARGET, **AUTO[key])


def auto(key: str, label: str) -> Model:
    settings = ", ".join(f"{name}={value!r}" for name, value in AUTO[key].items())
    call = f"auto(table, target{', ' if settings else ''}{settings})"
    return Model(key, label, call, lambda rows, _: chosen(key, rows).model, with_target, "auto",
                 warm_rows=1_500)  # fmt: skip


def expert(key: str, call: str, make: Callable[[], Any]) -> Model:
    return Model(key, call, f"{call}.fit(table, target)", lambda rows, _: make().fit(rows, TARGET),
                 with_target, "expert", warm_rows=1_500)  # fmt: skip


def weighted(method: str) -> Model:
    return Model(
        method, f"NaiveBayes, weighted {method}",
        f'calibrate(NaiveBayes(), table, target, method="{method}")',
        lambda rows, _: verosim.calibrate(verosim.NaiveBayes(), rows, TARGET, method=method),
        with_target, "expert", warm_rows=1_500,
    )  # fmt: skip


# Boosting ----------------------------------------------------------------------------------------


def words(X: pd.DataFrame) -> list[Any]:
    """The columns that are not numbers."""
    return [c for c in X if not pd.api.types.is_numeric_dtype(X[c])]


def categoricals(X: pd.DataFrame, _: np.ndarray, new: pd.DataFrame) -> Frames:
    """Text columns as pandas categoricals of the training values; other values are missing.

    Of a column with very many values, the most frequent ones are categories.
    """
    X, new = X.copy(), new.copy()
    for c in words(X):
        known = sorted(X[c].value_counts().index[:MOST_CATEGORIES])
        X[c], new[c] = (
            pd.Categorical(frame[c].where(frame[c].isin(known)), categories=known)
            for frame in (X, new)
        )
    X.columns = new.columns = [f"c{i}" for i in range(X.shape[1])]  # LightGBM refuses some names
    return X, new


def missing_as_category(X: pd.DataFrame, _: np.ndarray, new: pd.DataFrame) -> Frames:
    """Text columns as pandas categoricals; CatBoost refuses missing values in them."""
    X, new = X.copy(), new.copy()
    for c in words(X):
        X[c], new[c] = (frame[c].astype(object).fillna("(missing)").astype("category")
                        for frame in (X, new))  # fmt: skip
    return X, new


def hist_gradient_boosting(X: pd.DataFrame, y: np.ndarray) -> Any:
    """Early stopping needs two rows of each class, so it is off where a class has one."""
    try:
        return HistGradientBoostingClassifier(random_state=0).fit(X, y)
    except ValueError as error:
        if "least populated class" not in str(error):
            raise
    model = HistGradientBoostingClassifier(random_state=0, early_stopping=False).fit(X, y)
    model.note_ = NO_EARLY_STOPPING
    return model


def light_gbm(X: pd.DataFrame, y: np.ndarray) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(n_jobs=threads(), verbose=-1).fit(X, y)


def cat_boost(X: pd.DataFrame, y: np.ndarray) -> Any:
    import catboost

    model = catboost.CatBoostClassifier(
        thread_count=threads(), random_seed=0, verbose=0, allow_writing_files=False
    )
    return model.fit(X, y, cat_features=words(X))


# Pipelines of scikit-learn -----------------------------------------------------------------------


def plain(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> Frames:
    """Text as objects, as the transformers expect. Booleans are text: they have no quantiles."""
    booleans = {c: str for c in X if pd.api.types.is_bool_dtype(X[c])}
    objects = dict.fromkeys([*words(X), *booleans], object)
    return tuple(frame.astype(booleans).astype(objects) for frame in (X, new))


def logistic_regression(X: pd.DataFrame, y: np.ndarray) -> Any:
    numbers = [c for c in X if c not in words(X) and X[c].notna().any()]
    number = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((number, numbers), (one_hot, words(X)))
    return make_pipeline(columns, LogisticRegression(max_iter=1_000)).fit(X, y)


def by_hand(label: str) -> Callable[[pd.DataFrame, np.ndarray], Any]:
    """One of the pipelines of the page's first section."""
    return lambda X, y: pipelines(X.assign(**{TARGET: y}), TARGET)[label].fit(X, y)


def linear_discriminant(X: pd.DataFrame, y: np.ndarray) -> Any:
    columns = pipelines(X.assign(**{TARGET: y}), TARGET)["GaussianNB, one-hot"][0]
    return make_pipeline(columns, LinearDiscriminantAnalysis()).fit(X, y)


REGISTRY = {
    model.key: model
    for model in (
        auto("auto-fast", "auto, fast"), auto("auto", "auto"), auto("auto-max", "auto, max"),
        auto("auto-simple", "auto, simple"),
        expert("naive-bayes", "NaiveBayes()", lambda: verosim.NaiveBayes()),
        weighted("columns"), weighted("pairs"),
        expert("tan", "TAN()", lambda: verosim.TAN()),
        expert("aode", "AODE()", lambda: verosim.AODE()),
        expert("aode-mdl", 'AODE(bins="mdl")', lambda: verosim.AODE(bins="mdl")),
        expert("kdb", "KDB()", lambda: verosim.KDB()),
        expert("kdb3", "KDB(k=3)", lambda: verosim.KDB(k=3)),
        expert("kdb5", "KDB(k=5)", lambda: verosim.KDB(k=5)),
        expert("lda", 'LDA(encode="onehot")', lambda: verosim.LDA(encode="onehot")),
        expert("lda-normal", 'LDA(encode="normal")', lambda: verosim.LDA(encode="normal")),
        expert("rda-normal", 'RDA(encode="normal")', lambda: verosim.RDA(encode="normal")),
        expert("lifted", "LiftedLDA()", lambda: verosim.LiftedLDA()),
        expert("mda", "MDA()", lambda: verosim.MDA()),
        Model("hgb", "HistGradientBoosting", "HistGradientBoostingClassifier()",
              hist_gradient_boosting, categoricals, "boosting", tempered=True),
        Model("lightgbm", "LightGBM", "LGBMClassifier()", light_gbm, categoricals, "boosting",
              tempered=True),
        Model("catboost", "CatBoost", "CatBoostClassifier()", cat_boost, missing_as_category,
              "boosting", tempered=True),
        Model("logistic", "logistic regression", "one-hot columns, standardised numbers, then "
              "LogisticRegression(max_iter=1000)", logistic_regression, plain, "pipeline"),
        Model("lda-sklearn", "LDA of scikit-learn, one-hot", "one-hot columns, then "
              "LinearDiscriminantAnalysis()", linear_discriminant, plain, "pipeline"),
        *(Model(key, label, label, by_hand(label), plain, "pipeline")
          for key, label in (("gaussian-nb", "GaussianNB, one-hot"),
                             ("categorical-nb", "CategoricalNB, 10 bins"),
                             ("bernoulli-nb", "BernoulliNB, 10 bins, one-hot"))),
    )
}  # fmt: skip
LABELS = {model.key: model.label for model in REGISTRY.values()} | {
    with_temperature(model.key): f"{model.label}, temperature"
    for model in REGISTRY.values()
    if model.tempered
}


def missing(model: Model) -> str | None:
    """Why the model cannot be used here: the error of a fit on 60 rows, or None."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    X = pd.DataFrame(rng.normal(size=(60, 3)) + (y == "b")[:, None], columns=["u", "v", "w"])
    rows, new = model.prepare(X, y, X)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows, y).predict_proba(new)
    except Exception as error:  # whatever it is, it is shown on the page
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


def reasons_missing(keys: Iterable[str]) -> dict[str, str]:
    """The models that cannot be used, with the reason."""
    found = {key: missing(REGISTRY[key]) for key in keys}
    return {key: why for key, why in found.items() if why}
