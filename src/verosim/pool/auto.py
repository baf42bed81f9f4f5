"""The model for the table at hand, chosen by how it judges rows it never saw.

    held-out   − Σ w log p(class | x) / Σ w, each fold judged by what the others say
    BIC        − 2 log p(x, y) + parameters · log n, from the statistics alone

References: Stone (1974), Cross-validatory choice; Schwarz (1978), Estimating the dimension of a
model; Hand & Yu (2001), Idiot's Bayes: not so stupid after all?
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from verosim.data.adapters import is_stream
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators import NaiveBayes
from verosim.folds import first_warning_only, inputs_of
from verosim.folds.inputs import without_split_columns
from verosim.folds.scores import LOG_LOSS
from verosim.kinds.density_choice import NUMBER_KINDS
from verosim.models import Inputs
from verosim.models.settings import one_of
from verosim.pool.candidate_scores import CandidateScorer
from verosim.pool.candidates import Entry, FoldPlan, candidates
from verosim.validate.cross_validation import check_generative
from verosim.validate.wrapper import fit_model


@dataclass(frozen=True)
class Candidate:
    """A model and how it did; `why` if it could not be tried."""

    model: Any
    score: float  # held-out log-loss, or BIC: less is better
    error: float  # standard error of the log-loss, by the folds; nan for BIC
    accuracy: float  # of held-out rows; nan for BIC
    why: str = ""

    @property
    def name(self) -> str:
        return " ".join(repr(self.model).split())


@dataclass(frozen=True, eq=False)
class Candidates:
    """All candidates, the best first; those that could not be tried last."""

    rows: list[Candidate]
    scoring: str  # "neg_log_loss" or "bic"
    complete: bool = True  # False if it was interrupted

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Candidate:
        return self.rows[i]

    def __str__(self) -> str:
        bic = self.scoring == "bic"
        lines = [["model", "BIC"] if bic else ["model", "log-loss ± se", "accuracy"]]
        untried: dict[str, dict[str, None]] = {}  # kinds of models by reason
        for row in self.rows:
            if row.why:
                untried.setdefault(row.why, {})[type(row.model).__name__] = None
            elif bic:
                lines.append([row.name, f"{row.score:.1f}"])
            else:
                score = f"{row.score:.4f} ± {row.error:.4f}"
                lines.append([row.name, score, f"{row.accuracy:.4f}"])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        out = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        out += [f"not tried: {', '.join(kinds)}: {why}" for why, kinds in untried.items()]
        if not self.complete:
            out.append("interrupted: the best of those judged so far")
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
    scoring: str = LOG_LOSS,
    models: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    schema: Any = None,
    na: Any = (),
) -> Choice:
    """Try the generative classifiers the columns allow, and return the best, fitted, with a table.

    Numbers: GaussianNB, NaiveLDA, LDA, QDA and RDA (a square of nine settings), over missing cells
    by EM; any table: NaiveBayes as the first look has it, with Gaussians alone, and with histograms
    alone. Of up to 5,000 rows, the choice between a Gaussian and a histogram, which the first look
    makes by the labels, is made again outside each fold; of more it matters little, and one look
    serves all folds, as in `cross_validate`.

    Parameters
    ----------
    X, y, groups, sample_weight, schema, na : as in :func:`cross_validate`
    cv : as there, but for "loo"
    scoring : "neg_log_loss" chooses by the log-loss of held-out rows, "bic" by the Bayesian
        information criterion of the joint density, from one pass a model. The scores in the table
        are the log-loss or BIC itself: less is better
    models : candidates of your own instead

    An interrupt (Ctrl-C) returns the best of the models judged so far; `table.complete` is then
    False.

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
    RDA(pooling=0.1, shrinkage=0.001)
    >>> print(table[0].name, round(table[0].score, 3), "±", round(table[0].error, 3))
    RDA(pooling=0.1, shrinkage=0.001) 0.044 ± 0.024
    """
    one_of("scoring", scoring, (LOG_LOSS, "bic"))
    if isinstance(cv, str) and cv == "loo":
        raise VerosimError('auto compares models fold by fold, and cv="loo" has none.', "cv=10.")
    inputs = inputs_of(X, y, sample_weight, schema, na)
    cv = 2 if scoring == "bic" else cv
    with first_warning_only():
        inputs = without_split_columns(NaiveBayes().spec(), inputs, cv, groups)
        if models is None:
            named = isinstance(y, str) or schema is not None or is_stream(X)
            entries, plan = candidates(inputs, cv, groups, named)
        else:
            entries, plan = _own(models, inputs, cv, groups)
        scorer = CandidateScorer(entries, plan, inputs)
        winner, table = _by_bic(scorer) if scoring == "bic" else _by_log_loss(scorer)
    if not table.complete:
        warn("Interrupted: the best of the models judged so far.", VerosimWarning)
    return Choice(winner, table)


def _own(
    models: Iterable[Any], inputs: Inputs, cv: Any, groups: Any
) -> tuple[list[Entry], FoldPlan]:
    """The user's candidates; the folds by the first of them that can read the rows."""
    entries = []
    for model in models:
        check_generative(model)
        entries.append(Entry(clone(model)))
    problem = VerosimError("models is empty.", "one generative classifier or more.")
    for entry in entries:
        try:
            return entries, FoldPlan.of(entry.model.spec(), inputs, cv, groups)
        except VerosimError as error:
            problem = error
    raise problem


def _by_log_loss(scorer: CandidateScorer) -> tuple[Any, Candidates]:
    scorer.run()
    order = sorted(scorer.scores, key=lambda i: scorer.scores[i].loss)
    if not order:
        raise _none_of_them(scorer)
    found = [(scorer.entries[i].model, scorer.scores[i]) for i in order]
    rows = [Candidate(model, one.loss, one.error, one.accuracy) for model, one in found]
    table = Candidates([*rows, *_untried(scorer)], LOG_LOSS, scorer.complete)
    return scorer.fitted(order[0]), table


def _by_bic(scorer: CandidateScorer) -> tuple[Any, Candidates]:
    found: list[tuple[float, Any]] = []
    for i, entry in enumerate(scorer.entries):
        if not _is_density(entry):
            scorer.why.setdefault(
                i, "true-or-false columns: a density does not compare with shares."
            )
        if i in scorer.why:
            continue
        try:
            model = fit_model(entry.model, entry.inputs(scorer.inputs))
            found.append((bic(model), model))
        except VerosimError as error:
            scorer.why[i] = error.what
    if not found:
        raise _none_of_them(scorer)
    found.sort(key=lambda one: one[0])
    rows = [Candidate(clone(model), score, np.nan, np.nan) for score, model in found]
    return found[0][1], Candidates([*rows, *_untried(scorer)], "bic")


def _is_density(entry: Entry) -> bool:
    """Whether the likelihood is of the same kind as that of NaiveBayes on these columns."""
    if entry.schema is None or isinstance(entry.model, NaiveBayes):
        return True
    return all(column.density in NUMBER_KINDS for column in entry.schema.used)


def _untried(scorer: CandidateScorer) -> list[Candidate]:
    return [
        Candidate(scorer.entries[i].model, np.nan, np.nan, np.nan, why)
        for i, why in sorted(scorer.why.items())
    ]


def _none_of_them(scorer: CandidateScorer) -> VerosimError:
    why = scorer.why[max(scorer.why)]  # the model that asks the least comes last
    return VerosimError(f"No model can be fitted to these rows: {why}", "models=[…] tries others.")


def bic(model: Any) -> float:
    """− 2 log p(x, y) + parameters · log n of a fitted model, from its statistic alone.

    Reference: Schwarz (1978), Estimating the dimension of a model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, bic
    >>> X, y = load_iris(return_X_y=True)
    >>> [round(bic(model.fit(X, y)), 1) for model in (LDA(), QDA())]
    [646.7, 597.2]
    """
    state = model.checked_state()
    there = model.class_count_ > 0
    log_x = state.params.generative.log_likelihood(state.current)[there].sum()
    log_y = (model.class_count_ * state.rule.log_prior)[there].sum()
    n = float(model.class_count_.sum())
    return float(-2 * (log_x + log_y) + model.n_parameters_ * np.log(n))
