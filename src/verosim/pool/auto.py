"""The best model for a table with one call: a pool of experts, or one textbook model."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from verosim.arguments import checked, finite, one_of
from verosim.data.adapters import opened_as
from verosim.data.text import are_texts
from verosim.errors import VerosimError
from verosim.estimators.base import GenerativeClassifier, NotFitted
from verosim.folds import inputs_of
from verosim.folds.inputs import brought_if_small, in_random_folds
from verosim.folds.scores import ACCURACY, LOG_LOSS
from verosim.pool.estimator import Pool
from verosim.pool.result import Candidates, Choice
from verosim.pool.simple import best_model
from verosim.pool.spec import EFFORTS
from verosim.pool.text_pool import TextPool

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.data.schema import Schema
    from verosim.typing import CV, FileOptions, Labels, MissingMarks, RandomState, Source, Weights

HELD_OUT, BIC = "held_out", "bic"
HeldOutScoring: TypeAlias = Literal["neg_log_loss", "accuracy"]
TEXTBOOK_FOLDS = 10


@checked
def auto(
    X: Source,
    y: Labels | None = None,
    cv: CV | None = None,
    *,
    effort: Literal["fast", "default", "max"] = "default",
    simple: bool = False,
    models: Iterable[GenerativeClassifier] | None = None,
    by: Literal["held_out", "bic"] = "held_out",
    scoring: HeldOutScoring = "neg_log_loss",
    like: Pool | TextPool | None = None,
    groups: ArrayLike | str | None = None,
    sample_weight: Weights | None = None,
    schema: Schema | None = None,
    na: MissingMarks = (),
    read: FileOptions | None = None,
    unlabelled: Literal["error", "skip"] = "error",
    time_limit: float | None = None,
    random_state: RandomState = 0,
) -> Choice:
    """Fit a pool of generative experts to any table, or choose one textbook model.

    By default the result is a fitted :class:`~verosim.Pool`. Its experts are models of counts (KDB,
    AODE, weighted columns and pairs of columns), Gaussian models of the whole table (LDA and RDA),
    LDA on random features (LiftedLDA), and models of texts (TextNB and TextRidge) if there are
    columns of text. Every expert predicts rows that it was not fitted on, and the pool learns from
    these predictions how much weight each expert gets. If X is a sequence of strings, the result is
    a fitted :class:`~verosim.TextPool`:

        log p(k | x) = b_k + Σ_e w_e ℓ_e(k) − log Σ_j exp( b_j + Σ_e w_e ℓ_e(j) ),   w_e ≥ 0

    Here ℓ_e(k) is the log-posterior of class k by expert e after calibration with one temperature,
    w_e is the weight of the expert and b_k is an offset of the class. Bins, parents and everything
    else that labels choose is chosen without the rows that are predicted. The weights minimise the
    log-loss of these rows, with a small penalty that pulls them to 1/E for E experts.

    With `simple=True`, `models=` or `by="bic"` the result is one textbook model, which is easier to
    read. For columns of numbers, the candidates are GaussianNB, NaiveLDA, LDA, QDA and RDA with
    nine settings. Missing values are handled by EM. For any table, the candidates include
    NaiveBayes with the column kinds of the first look, with Gaussians only, and with histograms
    only. The candidate with the best score is fitted on all rows:

        log-loss = − Σ w log p(y | x) / Σ w,   BIC = − 2 log p(x, y) + parameters · log n

    where w are the weights of the rows, n is their sum, and each row is scored by the model of the
    other folds. All candidates use the same folds. The log-loss is a mean over the rows, with
    p(y | x) at least the machine epsilon; `cross_validate` gives a mean over the folds. The page
    [Scores][which-score] of the documentation compares them. The first look uses the labels to
    choose between a Gaussian and a histogram. With up to 5,000 rows, this choice is made again
    without each test fold. With more rows the labels of one fold have little effect, and one look
    at all rows is used for all folds.

    A sparse matrix is read by textbook models only, so it never gives a pool.

    Ctrl-C stops the work. The result then has only the experts or the models that were scored so
    far, and `table.complete` is False.

    Parameters
    ----------
    X : array-like, sparse matrix or table of shape (n, d), or n texts
        The rows: a list, an array or a column of texts, an array, a data frame, Arrow data, a
        DuckDB relation, `verosim.query`, a file, a folder, an iterable of tables, or a data frame
        of Dask or Spark. A pool keeps the rows of a file in memory if they need less than about
        1 GB. It reads a larger file, or more than 50,000 rows on a cluster, five or six times. A
        pool can also read a source that can be read only once: the weights are then learned from
        the first rows, and all rows are counted.
    y : array-like of shape (n,), str or None, default=None
        The labels, or the name of the target column of X.
    cv : int, splitter, array-like, str, iterable of pairs or None, default=None
        The folds: a number of folds, a scikit-learn splitter, the fold of each row, the name of a
        column of folds, or pairs of training and test positions. "loo" is not possible. Textbook
        models also accept "time:column", for blocks in the order of time. None means 10 folds
        for textbook models. For a pool it means 5 folds, 3 from 2,000 rows on, or one held-out
        part if there are 10,000 rows or more. They are made by the hashes of the cells of the
        rows, so they are the same in memory, from files and on a cluster, in any order of the
        rows. A pool with more than 50,000 rows on a cluster needs None.
    effort : {"fast", "default", "max"}, default="default"
        The experts of a pool. "fast" uses models of counts and Gaussian models, which are small.
        "default" adds weighted columns and LDA on random features. "max" adds more of them, and MDA
        for columns of numbers. For texts, "fast" uses words only, "default" adds pairs of words,
        characters and a ridge regression, and "max" adds a linear support vector machine. A pool
        with MDA or this machine cannot add or forget rows. Textbook models do not use this setting.
    simple : bool, default=False
        Whether to choose one textbook model instead of a pool.
    models : iterable of generative classifiers or None, default=None
        Your own candidates. The best of them is chosen. None uses the candidates described above.
    by : {"held_out", "bic"}, default="held_out"
        "held_out" compares predictions of held-out rows. "bic" chooses a textbook model by the
        Bayesian information criterion of the joint density, with one pass over the rows per model.
    scoring : {"neg_log_loss", "accuracy"}, default="neg_log_loss"
        The score on held-out rows that chooses a textbook model. The table always shows both
        scores. The weights of a pool always minimise the log-loss. For a pool, "accuracy" sorts the
        table of experts by their accuracy, and "neg_log_loss" sorts it by their weight.
    like : Pool, TextPool or None, default=None
        A fitted pool. The new pool then has the same schema and the same experts, so that the two
        pools can be merged. The settings effort, schema and na are those of the given pool.
    groups : array-like of shape (n,), str or None, default=None
        The group of each row, or the name of a column of groups. All rows of a group are in the
        same fold. The column of groups is not used for predictions.
    sample_weight : array-like of shape (n,), str or None, default=None
        The weights of the rows, in the fit and in the scores, or the name of the column of weights.
        None gives each row the weight 1.
    schema : Schema or None, default=None
        The description of the columns that `verosim.look` returns. None makes a first look at the
        table.
    na : iterable of str, default=()
        Texts that mean a missing value in a table, in addition to the empty cell.
    read : dict or None, default=None
        Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
        `verosim.read`. None means that the files are examined.
    unlabelled : {"error", "skip"}, default="error"
        What to do with rows without a label. "error" raises an error that counts them. "skip"
        leaves them out.
    time_limit : float or None, default=None
        Seconds after which no further expert or model is started. The first one is always finished,
        and the others are in the table with the reason. None sets no limit.
    random_state : int, generator or None, default=0
        The seed of the folds and of the held-out part of a pool, so the same rows give the same
        result. None gives other folds at each call. The folds of textbook models depend on it if y
        is an array and cv is a number. They do not depend on it if there are groups, or if y is the
        name of a column, because a hash of the rows gives the folds of a table.

    Returns
    -------
    Choice
        The named tuple `(model, table)`. The model is the pool or the best textbook model, fitted
        on all rows. The first row of the table is the pool with its own score, followed by its
        experts with scores, weights, times and sizes. For textbook models, the table has all
        candidates with scores and standard errors, the best one first.

    Raises
    ------
    VerosimError
        If no model can be fitted to the rows, or if an argument is not valid.

    See Also
    --------
    verosim.Pool : The estimator, with its own settings.
    verosim.TextPool : The estimator for texts.
    verosim.cross_validate : The score of one model on held-out rows.

    References
    ----------
    Genest & Zidek (1986), Combining probability distributions: a critique and an annotated
    bibliography, Statistical Science 1, 114–135.
    Wolpert (1992), Stacked generalization, Neural Networks 5, 241–259.
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36,
    111–147.
    Schwarz (1978), Estimating the dimension of a model, Annals of Statistics 6, 461–464.
    Varma & Simon (2006), Bias in error estimation when using cross-validation for model selection,
    BMC Bioinformatics 7, 91.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from verosim import auto
    >>> X, y = load_wine(return_X_y=True)
    >>> model, table = auto(X, y, effort="fast")
    >>> model
    Pool(effort='fast')
    >>> table[0].name, table[0].accuracy > 0.98
    ("Pool(effort='fast')", True)
    >>> auto(X, y, simple=True).model
    RDA(pooling=0.1, shrinkage=0.0)
    """
    one_of("effort", effort, EFFORTS)
    one_of("by", by, (HELD_OUT, BIC))
    _check_scoring(scoring, by)
    if time_limit is not None:
        finite("time_limit", time_limit, least=np.finfo(float).tiny)
    if isinstance(cv, str) and cv == "loo":
        raise VerosimError(
            'cv must give folds, because models are compared by fold; got "loo".', "Use cv=10."
        )
    inputs = inputs_of(opened_as(X, read), y, sample_weight, schema, na, unlabelled)
    inputs = brought_if_small(inputs)
    if simple or models is not None or by == BIC or hasattr(inputs.X, "tocsr"):
        if like is not None:
            raise VerosimError(
                "like must be None if one textbook model is chosen, because like is for pools.",
                "Leave like out, or give a dense table without simple, models and by.",
            )
        until = None if time_limit is None else time.perf_counter() + time_limit
        cv = TEXTBOOK_FOLDS if cv is None else cv
        folds = in_random_folds(cv, inputs, groups, random_state)
        return best_model(inputs, models, folds, groups, BIC if by == BIC else scoring, until)
    _check_like(like, schema, na)
    kind = TextPool if isinstance(like, TextPool) or (like is None and are_texts(X)) else Pool
    pool: Pool | TextPool = kind(
        effort=effort, time_limit=time_limit, cv=cv, random_state=random_state
    )
    model = pool.fit_like(inputs, like, groups)
    return Choice(model, by_accuracy(model.table_) if scoring == ACCURACY else model.table_)


def _check_scoring(scoring: Any, by: str) -> None:
    if isinstance(scoring, str) and scoring == BIC:
        raise VerosimError(
            "scoring must be a score of held-out rows; got 'bic'.", 'Use auto(…, by="bic").'
        )
    one_of("scoring", scoring, (LOG_LOSS, ACCURACY))
    if by == BIC and scoring == ACCURACY:
        raise VerosimError(
            'scoring must be "neg_log_loss" together with by="bic", which holds out no rows; '
            "got 'accuracy'.",
            "Leave scoring or by out.",
        )


def _check_like(like: Any, schema: Any, na: Any) -> None:
    """Check that `like` is a fitted pool, and that nothing contradicts it."""
    if like is None:
        return
    if not isinstance(like, Pool | TextPool):
        raise VerosimError(
            f"like must be a fitted Pool; got {type(like).__name__}.",
            "Use the pool that auto returns: like=auto(…).model.",
        )
    try:
        like.checked_state()
    except NotFitted:
        raise VerosimError(
            "like must be a fitted Pool; got a pool that is not fitted.",
            "Fit it first, or use the pool that auto returns: like=auto(…).model.",
        ) from None
    for name, given in (("schema", schema is not None), ("na", bool(na))):
        if given:
            raise VerosimError(
                f"{name} must not be given together with like, which has a schema already.",
                f"Leave {name} out.",
            )


def by_accuracy(table: Candidates) -> Candidates:
    """The table of a pool with its experts sorted by accuracy. The pool stays first."""
    pool, *experts = table.rows
    experts.sort(key=lambda row: np.inf if row.why else -row.accuracy)  # nan would not sort
    return replace(table, rows=[pool, *experts], scoring=ACCURACY)
