"""The model for the table at hand, chosen by how it judges rows it never saw.

    held-out   − Σ log p(class | x) / n, the folds' mean and its standard error
    BIC        − 2 log p(x, y) + parameters · log n, from the statistics alone

All candidates are judged on the same folds; those that share their sums share the passes.
References: Stone (1974), Cross-validatory choice; Schwarz (1978), Estimating the dimension of a
model; Hand & Yu (2001), Idiot's Bayes: not so stupid after all?
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from verosim.data.adapters import open_table, streams
from verosim.data.look import look
from verosim.data.schema import Schema
from verosim.errors import VerosimError, listed
from verosim.estimators import (
    LDA,
    QDA,
    RDA,
    GaussianNB,
    NaiveBayes,
    NaiveLDA,
)
from verosim.estimators.holdout import Holdout
from verosim.estimators.parameters import one_of
from verosim.validate.cross import check_model, one_warning
from verosim.validate.scoring import LOG_LOSS, scorers
from verosim.validate.search import judge_all

POOLING = (0.1, 0.5, 0.9)
SPHERICITY = (0.0, 1e-3, 0.1)


@dataclass(frozen=True)
class Candidate:
    """A model and how it did; `why` if it could not be tried."""

    model: Any
    score: float  # held-out log-loss, or BIC: less is better
    error: float  # standard error of the mean over the folds; nan for BIC
    accuracy: float
    why: str = ""

    @property
    def name(self) -> str:
        return " ".join(repr(self.model).split())


@dataclass(frozen=True, eq=False)
class Candidates:
    """All candidates, the best first."""

    rows: list[Candidate]
    criterion: str
    complete: bool = True
    chosen: int = field(default=0)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Candidate:
        return self.rows[i]

    def __str__(self) -> str:
        head = ["model", "BIC" if self.criterion == "bic" else "log-loss ± se", "accuracy"]
        lines = [head]
        for row in self.rows:
            if row.why:
                continue
            spread = "" if np.isnan(row.error) else f" ± {row.error:.4f}"
            shown = f"{row.score:.1f}" if self.criterion == "bic" else f"{row.score:.4f}"
            accuracy = "" if np.isnan(row.accuracy) else f"{row.accuracy:.4f}"
            lines.append([row.name, shown + spread, accuracy])
        widths = [max(len(line[i]) for line in lines) for i in range(3)]
        out = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        out += [f"not tried: {row.name}: {row.why}" for row in self.rows if row.why]
        if not self.complete:
            out.append("interrupted: by the folds done so far")
        return "\n".join(out)

    __repr__ = __str__


class Choice(NamedTuple):
    """The fitted winner and the table of all candidates."""

    model: Any
    table: Candidates


def auto(
    X: Any,
    y: Any = None,
    cv: Any = 10,
    *,
    by: str = "log_loss",
    models: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    schema: Any = None,
    na: Any = (),
) -> Choice:
    """Try the generative classifiers the columns allow, and return the best, fitted, with a table.

    Numbers: GaussianNB, NaiveLDA, LDA, QDA and RDA (a square of nine settings); any table:
    NaiveBayes as the first look has it, with Gaussians alone, and with histograms alone.

    Parameters
    ----------
    X, y, cv, groups, sample_weight, schema, na : as in :func:`cross_validate`
    by : "log_loss" chooses by the log-loss of held-out rows, "bic" by the Bayesian information
        criterion of the joint density, from one pass
    models : candidates of your own instead

    Returns
    -------
    (model, table) : the fitted winner, and all candidates, best first, with standard errors

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import auto
    >>> X, y = load_iris(return_X_y=True)
    >>> model, table = auto(X, y)
    >>> model
    RDA(pooling=0.1, sphericity=0.001)
    >>> print(table[0].name, round(table[0].score, 3), "±", round(table[0].error, 3))
    RDA(pooling=0.1, sphericity=0.001) 0.044 ± 0.024
    """
    one_of("by", by, ("log_loss", "bic"))
    given: dict[str, Any] = {"sample_weight": sample_weight, "schema": schema, "na": na}
    named = isinstance(y, str) or schema is not None or streams(X)
    if models is None:
        found = _candidates_of_table(X, y, **given) if named else _candidates_of_array(X)
    else:
        found = [clone(model) for model in models]
        for model in found:
            check_model(model)
    with one_warning():
        if named:
            cv = _one_set_of_folds(found, X, y, cv, groups, given)
            groups = None
        readable, refused = _readable(found, X, y, cv, groups, given)
        if by == "bic":
            return _by_bic(readable, refused, X, y, given)
        scored = judge_all(
            readable, X, y, cv, groups, scorers([LOG_LOSS, "accuracy"]), False, given
        )
        loss = -scored.table[LOG_LOSS]
        loss = loss[:, ~np.isnan(loss).any(axis=0)]
        accuracy = np.nanmean(scored.table["accuracy"], axis=1)
        spread = loss.std(axis=1, ddof=1) / np.sqrt(loss.shape[1])
        rows = [
            Candidate(model, *numbers)
            for model, *numbers in zip(
                readable, loss.mean(axis=1).tolist(), spread.tolist(), accuracy.tolist(),
                strict=True,
            )
        ]  # fmt: skip
        order = sorted(range(len(rows)), key=lambda i: rows[i].score)
        winner = scored.fitted(order[0], X, y, sample_weight)
    table = Candidates([*(rows[i] for i in order), *refused], by, scored.complete)
    return Choice(winner, table)


def _full(**settings: Any) -> list[Any]:
    """The Gaussians with full covariances, which share one statistic."""
    square = [
        RDA(pooling, sphericity, **settings) for pooling in POOLING for sphericity in SPHERICITY
    ]
    return [LDA(**settings), QDA(**settings), *square]


def _candidates_of_array(X: Any) -> list[Any]:
    try:
        holes = bool(np.isnan(np.asarray(X, dtype=np.float64)).any())
    except (TypeError, ValueError):
        return [NaiveBayes()]
    full = _full(missing="marginalise") if holes else _full()
    return [*full, GaussianNB(), NaiveLDA(), NaiveBayes(), NaiveBayes("histogram")]


def _candidates_of_table(X: Any, y: Any, schema: Any, na: Any, sample_weight: Any) -> list[Any]:
    weight = sample_weight if isinstance(sample_weight, str) else None
    target = y if isinstance(y, str) else None
    if schema is None:
        schema = look(X, target, weight=weight, na=na)
    assert isinstance(schema, Schema)
    numbers = [c.name for c in schema.used if c.density in ("gaussian", "histogram")]
    tables = [NaiveBayes()]
    for density in ("gaussian", "histogram"):
        if any(c.density != density for c in schema.used if c.name in numbers):
            tables.append(NaiveBayes(density))
    if len(numbers) < len(schema.used):
        return tables
    head = open_table(X).head(1 << 15)
    holes = any(rows.batch.column(name).null_count for rows in head for name in numbers)
    full = _full(missing="marginalise") if holes else _full()
    return [*full, GaussianNB(), NaiveLDA(), *tables]


def _one_set_of_folds(
    models: list[Any], X: Any, y: Any, cv: Any, groups: Any, given: dict[str, Any]
) -> Any:
    """Folds by hash go by what a model reads: one model's serve all, so that they compare."""
    reader = Holdout(models[-1], X, y, cv, groups, **given)
    for _ in reader.judged([models[-1]]):
        pass
    return reader.numbers


def _readable(
    models: list[Any], X: Any, y: Any, cv: Any, groups: Any, given: dict[str, Any]
) -> tuple[list[Any], list[Candidate]]:
    """The models that can read these rows, and why the others cannot."""
    able, refused = [], []
    for model in models:
        try:
            source = Holdout(model, X, y, cv, groups, **given)
            if model.get_params().get("missing") == "marginalise":  # patterns may be too many
                model._derive(source.total, streaming=True)
        except VerosimError as error:
            refused.append(Candidate(model, np.nan, np.nan, np.nan, error.what))
        else:
            able.append(model)
    if not able:
        why = listed([row.why for row in refused], 1)
        raise VerosimError(f"No model can read these rows: {why}.", "NaiveBayes reads any table.")
    return able, refused


def _by_bic(
    models: list[Any], refused: list[Candidate], X: Any, y: Any, given: dict[str, Any]
) -> Choice:
    rows: list[Candidate] = []
    for model in models:
        fitted = clone(model).fit(X, y, **given)
        try:
            rows.append(Candidate(fitted, bic(fitted), np.nan, np.nan))
        except VerosimError as error:
            refused.append(Candidate(model, np.nan, np.nan, np.nan, error.what))
    rows.sort(key=lambda row: row.score)
    if not rows:
        raise VerosimError("No candidate has a likelihood to compare.", 'by="log_loss".')
    winner = rows[0].model
    shown = [Candidate(clone(row.model), row.score, row.error, row.accuracy) for row in rows]
    return Choice(winner, Candidates([*shown, *refused], "bic"))


def bic(model: Any) -> float:
    """− 2 log p(x, y) + parameters · log n of a fitted model, from its statistic alone."""
    statistic = model._current()
    there = model.class_count_ > 0
    log_x = model._params.generative.log_likelihood(statistic)[there].sum()
    log_y = (model.class_count_ * model._rule.log_prior)[there].sum()
    n = float(model.class_count_.sum())
    return float(-2 * (log_x + log_y) + model.n_parameters_ * np.log(n))
