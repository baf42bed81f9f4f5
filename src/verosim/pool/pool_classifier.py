"""What all pools share: learning, merging, new weights, and the parts of the experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from verosim.arguments import checked
from verosim.errors import FITTED_SCHEMA_HINT, ONE_SCHEMA_HINT, VerosimError
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.checked_method import RowUpdate
from verosim.estimators.one_state import reads, updates
from verosim.folds import inputs_of
from verosim.models import Inputs, State
from verosim.pool.mixing import Mixing
from verosim.pool.program import pool_program
from verosim.pool.result import Candidates, ExpertScores
from verosim.pool.spec import LIKE_HINT, PoolSpec

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.bayes.program import Program
    from verosim.data.schema import Schema
    from verosim.estimators.base import StatisticClassifier
    from verosim.typing import FileOptions, Labels, MissingMarks, Source, Weights


class PoolClassifier(GenerativeClassifier):
    """A classifier that combines several experts."""

    if TYPE_CHECKING:

        def spec(self) -> PoolSpec: ...

    # Learning --------------------------------------------------------------------------------

    @updates
    def fit_like(
        self,
        inputs: Inputs,
        like: PoolClassifier | None = None,
        groups: ArrayLike | str | None = None,
    ) -> Self:
        """Fit with the schema and the experts of another pool. `auto` calls this method.

        Parameters
        ----------
        inputs : Inputs
            The arguments of `fit` as one value.
        like : Pool or None, default=None
            A fitted pool. Both pools can then be merged. None chooses the experts for these rows.
        groups : array-like of shape (n,), str or None, default=None
            The group of each row, or the name of a column. Rows of one group are in the same fold.

        Returns
        -------
        Self
            The fitted pool itself.
        """
        from verosim.pool.learning import learn_pool

        known = None if like is None else like.checked_state()
        return self.set_state(learn_pool(self.spec(), inputs, groups, known))

    @RowUpdate
    @checked
    def partial_fit(
        self,
        X: Source,
        y: Labels | None = None,
        classes: ArrayLike | None = None,
        sample_weight: Weights | None = None,
        *,
        schema: Schema | None = None,
        na: MissingMarks = (),
        read: FileOptions | None = None,
        unlabelled: Literal["error", "skip"] = "error",
    ) -> Self:
        """Add training rows to the pool, in place.

        The first call chooses the experts and learns their weights, so it should have as many rows
        as possible. Later calls add rows to the sums of all experts, and the weights stay. The
        order and the size of later calls do not matter. New classes may appear in any call.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to add.
        y : array-like of shape (n,) or str or None, default=None
            The labels, or the name of the target column of a table. None is allowed if the model
            or `schema` knows the name of the target.
        classes : array-like of shape (C,) or None, default=None
            Labels that may appear later. This argument is optional in every call.
        sample_weight : array-like of shape (n,) or str or None, default=None
            Non-negative weights of the rows, or the name of a column of weights. None gives every
            row the weight 1.
        schema : Schema or None, default=None
            How each column of a table is read, for the first call. None means that the first call
            looks at its rows itself.
        na : iterable of str, default=()
            Texts that mean "missing" in a table, in addition to the empty cell, for the first
            call.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.
        unlabelled : {"error", "skip"}, default="error"
            What to do with rows without a label. "error" raises an error that counts them. "skip"
            leaves them out.

        Returns
        -------
        Self
            The updated pool itself.
        """
        updated: Self = super().partial_fit(
            X, y, classes, sample_weight, schema=schema, na=na, read=read, unlabelled=unlabelled
        )
        return updated

    @checked
    def merge(self, other: StatisticClassifier) -> Self:
        """Combine two fitted pools into a new pool of the rows of both.

        `a + b` and `sum(pools)` do the same. The two pools stay unchanged. They must have the same
        schema and the same experts: `auto(X, y, like=pool)` fits such a pool. The sums are exact.
        The weights, temperatures and offsets are means, weighted by the rows of the two pools,
        until `reweigh` learns them again.

        Parameters
        ----------
        other : Pool
            A fitted pool with the same schema and the same experts.

        Returns
        -------
        Self
            A new fitted pool with the parameters of this pool.
        """
        try:
            return super().merge(other)
        except VerosimError as error:
            if error.hint in (ONE_SCHEMA_HINT, FITTED_SCHEMA_HINT):
                raise VerosimError(error.what, LIKE_HINT) from None
            raise

    @updates
    def reweigh(
        self,
        X: Source,
        y: Labels | None = None,
        sample_weight: Weights | None = None,
        *,
        counted: bool = True,
    ) -> Self:
        """Learn new weights of the experts, in place. The sums stay as they are.

        Use it after many rows were added or removed, or after `merge`. Experts that were dropped
        at `fit` do not come back.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to learn the weights from. A sample of recent rows is enough.
        y : array-like of shape (n,) or str or None, default=None
            Their labels, or the name of the target column of a table. None is allowed if the model
            knows the name of the target.
        sample_weight : array-like of shape (n,) or str or None, default=None
            Non-negative weights of the rows, or the name of a column of weights. If the rows are
            counted, these must be the weights with which they were added. None gives every row the
            weight 1.
        counted : bool, default=True
            Whether the pool was fitted on these rows. Each fold of them is then subtracted from the
            sums before it is predicted. False uses the sums as they are.

        Returns
        -------
        Self
            The updated pool itself.
        """
        from verosim.pool.learning import reweighed

        state = self.checked_state()
        self.check_columns(X)
        inputs = inputs_of(X, y, sample_weight)
        return self.set_state(reweighed(self.spec(), state, inputs, counted))

    @reads
    def program(self) -> Program:
        """Write the posteriors of the pool down as data, with one term per expert.

        Returns
        -------
        Program
            The program. Its `evaluate` gives `predict_log_proba`.

        Raises
        ------
        VerosimError
            If an expert cannot be written as a program.
        """
        return pool_program(self.checked_state())

    # The experts -----------------------------------------------------------------------------

    @property
    def table_(self) -> Candidates:
        """The experts with their scores on held-out rows, weights, times and sizes."""
        report: Candidates = self.fitted("table_").tuned["report"]
        return report

    @property
    def weights_(self) -> dict[str, float]:
        """The weight w_e of each expert, by name."""
        mixing = _mixing(self.fitted("weights_"))
        return dict(zip(mixing.names, mixing.weights.tolist(), strict=True))

    @property
    def rows_since_weights_(self) -> float:
        """The weight of the rows added or removed since the weights were learned."""
        return _mixing(self.fitted("rows_since_weights_")).since

    @property
    def reweigh_after_(self) -> float:
        """The weight of changed rows after which the weights should be learned again."""
        return _mixing(self.fitted("reweigh_after_")).rows

    @reads
    def expert_scores(self, X: Source) -> ExpertScores:
        """Compute what each expert adds to the scores of the classes.

            log p(k | x) / p(l | x) = b_k − b_l + Σ_e w_e (ℓ_e(k) − ℓ_e(l))

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.

        Returns
        -------
        ExpertScores
            The offsets b_k, and the parts w_e ℓ_e(k) of the experts.
        """
        state = self.checked_state()
        parts = self.evaluate(X, lambda rule, rows: rule.params.parts(rows).transpose(1, 0, 2))
        offsets = state.params.offsets(state.rule.log_prior)
        names = _mixing(state).names
        return ExpertScores(names, state.classes, offsets, parts.transpose(1, 0, 2))


def _mixing(state: State) -> Mixing:
    """The mixing of a fitted pool."""
    found: Mixing = state.tuned["mixing"]
    return found
