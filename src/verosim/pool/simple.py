"""The choice of one textbook model, by its score on held-out rows or by BIC.

    log-loss   − Σ w log p(y | x) / Σ w, each fold scored by the model of the other folds
    accuracy   Σ w [predicted class = y] / Σ w, on the same rows
    BIC        − 2 log p(x, y) + parameters · log n, computed from the statistics

References: Stone (1974), Cross-validatory choice; Schwarz (1978), Estimating the dimension of a
model; Hand & Yu (2001), Idiot's Bayes: not so stupid after all?
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from verosim.data.adapters import check_not_read_once, is_stream
from verosim.data.same_rows import reason_to_leave_out
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators import NaiveBayes
from verosim.folds import first_warning_only
from verosim.folds.inputs import without_split_columns
from verosim.folds.scores import LOG_LOSS
from verosim.kinds.density_choice import NUMBER_KINDS
from verosim.models import Inputs
from verosim.pool.bic import bic
from verosim.pool.candidate_scores import TIME_IS_OVER, CandidateScorer
from verosim.pool.candidates import Entry, FoldPlan, candidates
from verosim.pool.result import Candidate, Candidates, Choice
from verosim.validate.cross_validation import check_generative
from verosim.validate.wrapper import fit_model


def best_model(
    inputs: Inputs,
    models: Iterable[Any] | None,
    cv: Any,
    groups: Any,
    scoring: str,
    until: float | None = None,
) -> Choice:
    """The model with the best score, fitted on all rows, and the scores of all candidates.

    No further model is tried after the time `until` of `time.perf_counter`.
    """
    check_not_read_once(inputs.X, "a comparison of textbook models")
    cv = 2 if scoring == "bic" else cv
    with first_warning_only():
        inputs = without_split_columns(NaiveBayes().spec(), inputs, cv, groups)
        if models is None:
            named = isinstance(inputs.y, str) or inputs.schema is not None or is_stream(inputs.X)
            entries, plan = candidates(inputs, cv, groups, named)
        else:
            entries, plan = _own(models, inputs, cv, groups)
        scorer = CandidateScorer(entries, plan, inputs, until)
        winner, table = _by_bic(scorer) if scoring == "bic" else _by_score(scorer, scoring)
    if not table.complete:
        warn(
            "The search was interrupted, and its result is the best of the models scored so far.",
            VerosimWarning,
        )
    return Choice(winner, table)


def _own(
    models: Iterable[Any], inputs: Inputs, cv: Any, groups: Any
) -> tuple[list[Entry], FoldPlan]:
    """The candidates of the user, and folds made by the first one that can read the rows."""
    entries = []
    for model in models:
        check_generative(model)
        entries.append(Entry(clone(model)))
    problem = VerosimError("models must not be empty.", "Give at least one generative classifier.")
    for entry in entries:
        try:
            return entries, FoldPlan.of(entry.model.spec(), inputs, cv, groups)
        except VerosimError as error:
            problem = error
    raise problem


def _by_score(scorer: CandidateScorer, scoring: str) -> tuple[Any, Candidates]:
    scorer.run()
    losses = {
        i: one.loss if scoring == LOG_LOSS else -one.accuracy for i, one in scorer.scores.items()
    }
    order = sorted(losses, key=lambda i: losses[i])
    if not order:
        raise _none_of_them(scorer)
    found = [(scorer.entries[i].model, scorer.scores[i]) for i in order]
    rows = [Candidate(model, one.loss, one.error, one.accuracy) for model, one in found]
    table = Candidates([*rows, *_untried(scorer)], scoring, scorer.complete)
    return scorer.fitted(order[0]), table


def _by_bic(scorer: CandidateScorer) -> tuple[Any, Candidates]:
    found: list[tuple[float, Any]] = []
    for i, entry in enumerate(scorer.entries):
        if not _is_density(entry):
            scorer.why.setdefault(
                i, "BIC cannot compare a density of boolean columns with their probabilities."
            )
        if found and scorer.is_late:
            scorer.why.setdefault(i, TIME_IS_OVER)
        if i in scorer.why:
            continue
        try:
            model = fit_model(entry.model, entry.inputs(scorer.inputs))
            found.append((bic(model), model))
        except VerosimError as error:
            scorer.why[i] = reason_to_leave_out(error)
    if not found:
        raise _none_of_them(scorer)
    found.sort(key=lambda one: one[0])
    rows = [Candidate(clone(model), score, np.nan, np.nan) for score, model in found]
    return found[0][1], Candidates([*rows, *_untried(scorer)], "bic")


def _is_density(entry: Entry) -> bool:
    """Whether the likelihood has the same units as that of NaiveBayes on these columns."""
    if entry.schema is None or isinstance(entry.model, NaiveBayes):
        return True
    return all(column.density in NUMBER_KINDS for column in entry.schema.used)


def _untried(scorer: CandidateScorer) -> list[Candidate]:
    return [
        Candidate(scorer.entries[i].model, np.nan, np.nan, np.nan, why)
        for i, why in sorted(scorer.why.items())
    ]


def _none_of_them(scorer: CandidateScorer) -> VerosimError:
    why = scorer.why[max(scorer.why)]  # the last model has the weakest requirements
    return VerosimError(
        f"No model can be fitted to these rows: {why}", "Use models=[…] to try other models."
    )
