"""The base class of generative classifiers: Bayes' rule with priors and densities.

    δ_k(x) = log π_k + log p(x | k),   p(k | x) = exp δ_k / Σ_j exp δ_j

`ScoreMixin` predicts, `StatisticClassifier` learns by sums, and `GenerativeClassifier` adds the
methods that need densities. All three can be imported from here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from sklearn.base import clone

from verosim.arguments import checked, whole
from verosim.bayes.rule import Rule
from verosim.data import encode_labels
from verosim.data.adapters import is_scalar, opened_as
from verosim.data.labels import check_known, label_array, positions
from verosim.errors import VerosimError
from verosim.estimators.checks import generator
from verosim.estimators.density_method import DensityMethod
from verosim.estimators.one_state import reads
from verosim.estimators.predictions import predicted_table, table_accuracy
from verosim.estimators.score_mixin import NotFitted, ScoreMixin, has_probabilities
from verosim.estimators.statistic_classifier import StatisticClassifier
from verosim.models import derive
from verosim.models.opening import with_marks
from verosim.stats.hollow import check_has_sums

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

    from verosim.bayes.learned import Learned, LearnedTable
    from verosim.typing import FileOptions, MissingMarks, Priors, RandomState, Source

__all__ = [
    "GenerativeClassifier",
    "NotFitted",
    "ScoreMixin",
    "StatisticClassifier",
    "has_probabilities",
    "table_accuracy",
]


class GenerativeClassifier(StatisticClassifier):
    """A classifier by priors and densities."""

    @reads
    def with_priors(self, priors: Priors) -> Self:
        """Create a copy of the fitted model with other class priors.

        The training rows are not needed. This model stays unchanged.

        Parameters
        ----------
        priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None
            The new priors. None uses n_k/n, "laplace" uses (n_k + 1)/(n + C), ("laplace", α) uses
            (n_k + α)/(n + αC), and "uniform" uses 1/C. An array is in the order of `classes_`. A
            dict maps labels to priors.

        Returns
        -------
        Self
            The new fitted model.
        """
        state = self.checked_state()
        check_has_sums(state.statistic, "with_priors")
        other = clone(self).set_params(priors=priors)
        return other.set_state(derive(other.spec(), state.current, state.schema, state.tuned))

    @property
    def class_prior_(self) -> np.ndarray:
        """(C,) the class priors π_k in use."""
        return np.exp(self.fitted("class_prior_").rule.log_prior)

    @property
    def alpha_(self) -> float:
        """The pseudo-count in use: the parameter `alpha`, or the value chosen for "cv"."""
        spec = self.fitted("alpha_").spec
        if not hasattr(spec, "alpha"):
            raise AttributeError(f"{type(self).__name__} has no pseudo-count alpha.")
        return spec.pseudo_count()

    @overload
    def learned(self, column: str | int, top: int = 10) -> LearnedTable: ...

    @overload
    def learned(self, column: None = None, top: int = 10) -> Learned: ...

    @reads
    def learned(self, column: str | int | None = None, top: int = 10) -> LearnedTable | Learned:
        """What the model has learned about one column or about all columns, to read and to print.

        Parameters
        ----------
        column : str, int or None, default=None
            The name of a column of the table, or the position of a column. None gives all columns.
        top : int, default=10
            The number of tokens of a text that are listed for each class.

        Returns
        -------
        LearnedTable or Learned
            The table of the column, with one row per class: shares of values, heights of bins,
            mean and deviation, a rate, or shares of tokens, with the weights behind them. For
            None, a collection with one table per column.

        Raises
        ------
        VerosimError
            If the model has no such column, or no table for each column.
        """
        from verosim.estimators import learned_tables

        state = self.checked_state()
        if column is None:
            return learned_tables.learned_model(state, type(self).__name__, top)
        return learned_tables.learned_column(state, column, top)

    @DensityMethod
    @checked
    def log_joint(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """Compute the log joint densities δ_k(x) = log π_k + log p(x | k).

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n, C)
            The log joint densities. Columns are in the order of `classes_`.
        """
        return self.evaluate(opened_as(X, read), Rule.joint, na)

    @DensityMethod
    @checked
    def log_density(
        self, X: Source, *, na: MissingMarks = (), read: FileOptions | None = None
    ) -> np.ndarray:
        """Compute the log density log p(x) = log Σ_k π_k p(x | k) of each row.

        Low values mark rows that are unusual under the model.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows to score.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray of shape (n,)
            The log densities.
        """
        return self.evaluate(opened_as(X, read), Rule.evidence, na)

    @reads
    def predict_table(
        self,
        source: Source,
        keep: str | Iterable[str] = (),
        *,
        na: MissingMarks = (),
        read: FileOptions | None = None,
    ) -> pa.RecordBatchReader:
        """Predict a table of any size in little memory.

        Each piece is predicted when it is read from the result.

        Parameters
        ----------
        source : table or array-like of shape (n, d)
            The rows to classify.
        keep : str or iterable of str, default=()
            Columns of the source to copy into the result.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        pyarrow.RecordBatchReader
            The kept columns, then `prediction`, one posterior `p_<label>` per class, and
            `log_density` if the model is a density of the columns. Of a Dask data frame it is a
            lazy Dask data frame with the index of the rows.
        """
        state = self.checked_state()
        source = with_marks(opened_as(source, read), na)
        self.check_columns(source)
        return predicted_table(state, source, keep)

    @DensityMethod
    @reads
    def sample(
        self,
        n: int = 1,
        y: ArrayLike | Hashable | None = None,
        random_state: RandomState = None,
        given: Mapping[Any, Any] | None = None,
    ) -> tuple[Any, np.ndarray]:
        """Simulate rows from the model: k ~ Cat(π), then x ~ p(x | k).

        Parameters
        ----------
        n : int, default=1
            The number of rows.
        y : label, array-like of shape (n,) or None, default=None
            One class for all rows, or one class per row. None draws the classes from the priors.
        random_state : int, Generator, RandomState or None, default=None
            The seed or the generator of random numbers. None gives new random numbers at each
            call.
        given : dict or None, default=None
            The values of some columns, by name or by number, such as {"age": 40}. All rows have
            these values. The other columns are drawn from p(x | given, k), and the class from
            p(k | given) if y is None. Models without exact conditional distributions refuse it.

        Returns
        -------
        rows : ndarray of shape (n, d)
            The simulated rows.
        labels : ndarray of shape (n,)
            Their classes.
        """
        state = self.checked_state()
        whole("n", n, least=0, most=np.iinfo(np.intp).max // 8)  # bytes of a number
        n = int(n)
        rng = generator(random_state)
        classes = None
        if y is not None:
            one = is_scalar(y) or getattr(y, "ndim", 1) == 0
            wanted = label_array([y] * n if one else y)
            if wanted.shape != (n,):
                raise VerosimError(
                    f"y must be one label or an array of {n} labels, one per row; got shape "
                    f"{wanted.shape}."
                )
            self.check_has_rows(encode_labels(wanted)[1])
            classes = positions(wanted, self.classes_)
        if given is None:
            rows, classes = state.rule.sample(n, classes, rng)
        else:
            from verosim.estimators.conditional import draw_given

            rows, classes = draw_given(state, n, classes, given, rng)
        return rows, self.classes_[classes]

    @DensityMethod
    @reads
    def impute(
        self,
        X: Source,
        how: Literal["mean", "mode", "draw"] = "mean",
        random_state: RandomState = None,
        *,
        na: MissingMarks = (),
        read: FileOptions | None = None,
    ) -> Any:
        """Fill in missing cells from their distribution given the other cells of the row.

            mean = Σ_k p(k | x_o) E[x_m | x_o, k]

        Here x_o are the cells of the row that have values, and x_m is a missing cell. Other cells
        do not change. Models without exact conditional distributions refuse this method.

        Parameters
        ----------
        X : array-like of shape (n, d) or table
            The rows. A table can have other columns than those of the model; they do not change.
        how : {"mean", "mode", "draw"}, default="mean"
            "mean" uses the expected value of a number, and the most probable value of a category
            or a boolean. "mode" uses the most probable value of every cell. "draw" draws a class
            from p(k | x_o), and then all missing cells of the row together from p(x_m | x_o, k).
            With "mode" and "draw", columns of whole numbers in a table get whole numbers.
        random_state : int, Generator, RandomState or None, default=None
            The seed or the generator of random numbers for "draw". None gives new random numbers
            at each call.
        na : iterable of str, default=()
            Texts that mean "missing" in this table, in addition to those of the fit.
        read : dict or None, default=None
            Options for files, such as `dict(sep=";", encoding="latin-1")`: the arguments of
            `verosim.read`. None means that the files are examined.

        Returns
        -------
        ndarray, table or pyarrow.RecordBatchReader
            The rows without missing cells. An array gives an array, a pandas or polars data frame
            gives a data frame of the same kind, and an Arrow table or a dict gives an Arrow table.
            A file or another source that is not in memory gives a reader that fills in each piece
            when it is read. A column keeps its type if the new values fit. Texts, and dates that
            are not "date+trend", stay missing.
        """
        state = self.checked_state()
        opened = with_marks(opened_as(X, read), na)
        self.check_columns(opened)
        from verosim.estimators.conditional import imputed

        return imputed(state, X, opened, how, generator(random_state))

    @reads
    def check_has_rows(self, labels: np.ndarray) -> None:
        """Check that the model has seen rows of each label. Other methods call this method.

        Parameters
        ----------
        labels : ndarray of shape (m,)
            The labels to check.

        Raises
        ------
        VerosimError
            If a label is unknown, or if its class has no rows.
        """
        check_known(labels, self.classes_)
        known = self.classes_.tolist()
        for label in labels.tolist():
            if not self.class_count_[known.index(label)] > 0:
                raise VerosimError(
                    f"Class {label!r} has no rows, so its density is unknown.",
                    "Add some rows of this class with partial_fit first.",
                )
