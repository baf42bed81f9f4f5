"""Automatic choice of a model, by its score on held-out rows or by BIC.

    log-loss   − Σ w log p(y | x) / Σ w, each fold scored by the model of the other folds
    BIC        − 2 log p(x, y) + parameters · log n, computed from the statistics

References: Stone (1974), Cross-validatory choice; Schwarz (1978), Estimating the dimension of a
model; Hand & Yu (2001), Idiot's Bayes: not so stupid after all?
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone

from verosim.data.adapters import is_stream
from verosim.errors import VerosimError, VerosimWarning, warn
from verosim.estimators import NaiveBayes
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.density_method import check_density
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

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.data.schema import Schema
    from verosim.typing import CV, Labels, MissingMarks, Source, Weights


@dataclass(frozen=True)
class Candidate:
    """One candidate of :func:`~verosim.auto` and its score.

    The score is the log-loss of held-out rows or the BIC, and a lower score is better:

        log-loss = − Σ w log p(y | x) / Σ w,   BIC = − 2 log p(x, y) + parameters · log n

    where w are the weights of the rows and n is their sum.

    Attributes
    ----------
    model : generative classifier
        The model with its settings, not fitted.
    score : float
        The log-loss of held-out rows, or the BIC. It is nan if the model was not tried.
    error : float
        The standard error of the log-loss over the folds. It is nan for BIC.
    accuracy : float
        The accuracy on held-out rows. It is nan for BIC.
    why : str
        The reason why the model was not tried. It is empty if the model was tried.
    name : str
        The `repr` of the model in one line.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36,
    111–147.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, auto
    >>> X, y = load_iris(return_X_y=True)
    >>> best = auto(X, y, models=[LDA(), QDA()]).table[0]
    >>> best.name, round(best.score, 3)
    ('QDA()', 0.048)
    """

    model: GenerativeClassifier
    score: float
    error: float
    accuracy: float
    why: str = ""

    @property
    def name(self) -> str:
        """The `repr` of the model in one line."""
        return " ".join(repr(self.model).split())


@dataclass(frozen=True, eq=False)
class Candidates:
    """The table of all candidates of :func:`~verosim.auto`, from the best to the worst.

    Candidates that were not tried are last. `len(table)` is the number of candidates, `table[0]` is
    the best one, and `print(table)` shows all of them.

    Attributes
    ----------
    rows : list of Candidate
        The candidates, sorted by score.
    scoring : str
        The score: "neg_log_loss" for the log-loss of held-out rows, or "bic".
    complete : bool
        Whether all candidates were tried. It is False after an interrupt.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36,
    111–147.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, auto
    >>> X, y = load_iris(return_X_y=True)
    >>> auto(X, y, models=[LDA(), QDA()]).table
    model  log-loss ± se    accuracy
    QDA()  0.0482 ± 0.0249  0.9800
    LDA()  0.0486 ± 0.0269  0.9800
    """

    rows: list[Candidate]
    scoring: str
    complete: bool = True

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Candidate:
        return self.rows[i]

    def __str__(self) -> str:
        bic = self.scoring == "bic"
        lines = [["model", "BIC"] if bic else ["model", "log-loss ± se", "accuracy"]]
        untried: dict[str, dict[str, None]] = {}  # names of classes, by reason
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
            out.append("interrupted: only the models scored so far are compared")
        return "\n".join(out)

    __repr__ = __str__


class Choice(NamedTuple):
    """The result of :func:`~verosim.auto`: the best model and the table of all candidates.

    It is a named tuple, so `model, table = auto(X, y)` works.

    Attributes
    ----------
    model : generative classifier
        The candidate with the lowest score, fitted on all rows.
    table : Candidates
        All candidates with their scores.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36,
    111–147.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, auto
    >>> X, y = load_iris(return_X_y=True)
    >>> choice = auto(X, y, models=[LDA(), QDA()])
    >>> choice.model, len(choice.table)
    (QDA(), 2)
    """

    model: GenerativeClassifier
    table: Candidates


def auto(
    X: Source,
    y: Labels | None = None,
    cv: CV = 10,
    *,
    scoring: Literal["neg_log_loss", "bic"] = "neg_log_loss",
    models: Iterable[GenerativeClassifier] | None = None,
    groups: ArrayLike | None = None,
    sample_weight: Weights | None = None,
    schema: Schema | None = None,
    na: MissingMarks = (),
) -> Choice:
    """Try the generative classifiers that fit the columns, and return the best one.

    For columns of numbers, the candidates are GaussianNB, NaiveLDA, LDA, QDA and RDA with nine
    settings. Missing values are handled by EM. For any table, the candidates include NaiveBayes
    with the column kinds of the first look, with Gaussians only, and with histograms only. The
    candidate with the lowest score is fitted on all rows:

        log-loss = − Σ w log p(y | x) / Σ w,   BIC = − 2 log p(x, y) + parameters · log n

    where w are the weights of the rows, n is their sum, and each row is scored by the model of the
    other folds. All candidates use the same folds. The log-loss is a mean over the rows, with
    p(y | x) at least the machine epsilon; `cross_validate` gives a mean over the folds. The page
    [Scores][which-score] of the documentation compares them.

    The first look uses the labels to choose between a Gaussian and a histogram. With up to 5,000
    rows, this choice is made again without each test fold. With more rows the labels of one fold
    have little effect, and one look at all rows is used for all folds.

    Ctrl-C stops the search. It then returns the best of the models scored so far, and
    `table.complete` is False.

    Parameters
    ----------
    X : array-like or table of shape (n, d)
        The rows: an array, a data frame, Arrow data, a DuckDB relation, `verosim.query`, a file, a
        folder or an iterable of tables.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of X.
    cv : int, splitter, array-like, str or iterable of pairs, default=10
        The folds: a number of folds, a scikit-learn splitter, the fold of each row, the name of a
        column of folds, or pairs of training and test positions. "loo" is not possible.
    scoring : {"neg_log_loss", "bic"}, default="neg_log_loss"
        "neg_log_loss" chooses by the log-loss of held-out rows. "bic" chooses by the Bayesian
        information criterion of the joint density, with one pass over the rows per model. The table
        shows the log-loss or the BIC, and lower is better for both.
    models : iterable of generative classifiers or None, default=None
        Your own candidates. None uses the candidates described above.
    groups : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of groups. All rows of a group are in the
        same fold.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weights of the rows, in the fit and in the scores, or the name of the column of weights.
        None gives each row the weight 1.
    schema : Schema or None, default=None
        The description of the columns that `verosim.look` returns. None makes a first look at the
        table.
    na : iterable of str, default=()
        Texts that mean a missing value in a table, in addition to the empty cell.

    Returns
    -------
    Choice
        The named tuple `(model, table)`: the best model, fitted on all rows, and the table of all
        candidates with scores and standard errors.

    Raises
    ------
    VerosimError
        If no candidate can be fitted to the rows, or if an argument is not valid.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36,
    111–147.
    Schwarz (1978), Estimating the dimension of a model, Annals of Statistics 6, 461–464.
    Varma & Simon (2006), Bias in error estimation when using cross-validation for model selection,
    BMC Bioinformatics 7, 91.

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
        raise VerosimError(
            'cv must give folds, because models are compared by fold; got "loo".', "Use cv=10."
        )
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
                i, "BIC cannot compare a density of boolean columns with their probabilities."
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


def bic(model: GenerativeClassifier) -> float:
    """Bayesian information criterion of a fitted model, computed from its statistic.

        BIC = − 2 log p(x, y) + p log n

    where log p(x, y) is the log-likelihood of the training rows and their labels, p is the number
    of free parameters and n is the sum of the weights of the rows. A lower value is better. No rows
    are read.

    Parameters
    ----------
    model : generative classifier
        A fitted generative classifier of verosim.

    Returns
    -------
    float
        The BIC.

    References
    ----------
    Schwarz (1978), Estimating the dimension of a model, Annals of Statistics 6, 461–464.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from verosim import LDA, QDA, bic
    >>> X, y = load_iris(return_X_y=True)
    >>> [round(bic(model.fit(X, y)), 1) for model in (LDA(), QDA())]
    [646.7, 597.2]
    """
    state = model.checked_state()
    check_density(state.spec, "bic", "Compare models by held-out scores: cross_validate.")
    there = model.class_count_ > 0
    log_x = state.params.generative.log_likelihood(state.current)[there].sum()
    log_y = (model.class_count_ * state.rule.log_prior)[there].sum()
    n = float(model.class_count_.sum())
    return float(-2 * (log_x + log_y) + model.n_parameters_ * np.log(n))
