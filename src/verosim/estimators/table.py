"""Naive Bayes for tables: each column has a density of its own kind."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim import kinds
from verosim.data.labels import positions
from verosim.estimators.base import GenerativeClassifier
from verosim.estimators.checks import generator
from verosim.estimators.conditional import given_columns
from verosim.estimators.one_state import reads
from verosim.estimators.table_spec import TableSpec

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from verosim.typing import ClassWeight, ColumnKind, Priors, RandomState


class NaiveBayes(GenerativeClassifier):
    """Naive Bayes for tables with numbers, categories, dates, texts and missing values.

    Use it on a data frame, a file or a query without preprocessing. `fit` looks at the first rows
    and chooses a density for each column; `schema_` shows the choice, and `columns` changes it by
    name. The model assumes that the columns are independent within each class. The log
    discriminant of class k is:

        δ_k(x) = log π_k + Σ_j log p_j(x_j | k)

    Here π_k is the prior of class k, and p_j is the density of column j: a Gaussian, a histogram, a
    Poisson distribution, smoothed shares of categories, or a multinomial distribution of the words
    of a text. A date is used by its hour, weekday and month, and as "date+trend" also as a number.
    Missing values are skipped at fit, and predictions use the values that a row has. A column that
    is missing from the table to predict is skipped in the same way.

    Parameters
    ----------
    columns : {"auto", "gaussian", "histogram"} or dict, default="auto"
        The density of each column. "auto" chooses by the first rows. "gaussian" and "histogram"
        apply to all numeric columns. A dict maps names of some columns to "gaussian", "histogram",
        "poisson", "category", "boolean", "date", "date+trend", "text" or "ignore"; the other
        columns are chosen by the first rows. A number or a date can have a format, as in
        'number "1.234,56"' or 'date "31/12/2024"'. A list such as ["S", "M", "L"] is a category
        with exactly these possible values.
    alpha : float or "cv", default=1.0
        The pseudo-count that is added to the count of every category, bin and word. For a Poisson
        column it is the number of extra rows with the mean of all classes. "cv" chooses it by the
        log-loss on held-out rows, see `alpha_`.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n. "laplace" uses (n_k + 1)/(n
        + C), and ("laplace", α) uses (n_k + α)/(n + αC). "uniform" gives all classes the same
        prior. An array is in the order of `classes_`. A dict maps labels to priors.
    covariance : {"mle", "unbiased"}, default="mle"
        The divisor of the variances of Gaussian columns. "mle" divides by n_k, the number of rows
        of the class. "unbiased" divides by n_k − 1. A class with one value in a column gets the
        variance within all classes together, as in `GaussianNB`, and a `SingularWarning` names it.
    missing : {"skip", "category"}, default="skip"
        "skip" ignores missing values. "category" also models the probability that a value is
        missing in each class. Use it if missing values themselves help to separate the classes.
    max_categories : int, default=1000
        The number of values that a column of categories keeps. All other values share the
        category '‹other›'. A schema that is given to `fit` has its own number.
    floor : float, default=1e-9
        The smallest allowed variance of a Gaussian column, as a share of the total variance of
        that column.
    never : float, default=0.0
        With `alpha=0`, the share of a value that a class never had. Zero gives the estimate of
        maximum likelihood: the value has probability 0 in that class. R's e1071 uses 0.001.
    class_weight : dict, "balanced" or None, default=None
        Factors of the classes at estimation. The sums of class k are multiplied by w_k, as if each
        row of the class had the weight w_k, so a prior n_k/n becomes w_k n_k / Σ_j w_j n_j. A dict
        maps labels to factors, and the classes that it does not name have the factor 1. "balanced"
        uses w_k = n/(C n_k), which gives all classes the same weight. None uses 1 for all classes.
        The stored sums and `class_count_` stay the same, so it can change after the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The class labels, sorted.
    class_count_ : ndarray of shape (C,)
        The total weight of the rows of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    alpha_ : float
        The pseudo-count in use: the parameter `alpha`, or the value chosen for "cv".
    n_parameters_ : int
        The number of free parameters of all densities, and C − 1 priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns of X at fit. It exists only if X had column names.
    schema_ : Schema
        How each column of the table is read, and why.
    stats_ : Statistic
        The sums over the training rows. The model is computed from them.

    See Also
    --------
    look : Creates a schema that can be checked and edited before `fit`.
    GaussianNB : For arrays of numbers.
    CategoricalNB : For columns of categories only.
    TextNB : For one column of texts.

    References
    ----------
    Hand & Yu (2001), Idiot's Bayes: not so stupid after all?, International Statistical Review 69,
    385–398.

    Examples
    --------
    >>> import verosim
    >>> table = {"size": [1.0, 1.2, 3.1, None], "hue": ["red", None, "blue", "blue"],
    ...          "kind": ["a", "a", "b", "b"]}
    >>> model = verosim.NaiveBayes().fit(table, "kind")
    >>> model.predict({"size": [1.1, None], "hue": ["green", "blue"]}).tolist()
    ['a', 'b']
    >>> model.predict_proba({"hue": ["red"]}).round(2)
    array([[0.73, 0.27]])
    """

    def __init__(
        self,
        columns: Literal["auto", "gaussian", "histogram"] | Mapping[str, ColumnKind] = "auto",
        alpha: float | Literal["cv"] = 1.0,
        priors: Priors = None,
        covariance: Literal["mle", "unbiased"] = "mle",
        missing: Literal["skip", "category"] = "skip",
        max_categories: int = 1000,
        floor: float = 1e-9,
        never: float = 0.0,
        class_weight: ClassWeight = None,
    ) -> None:
        self.columns = columns
        self.alpha = alpha
        self.priors = priors
        self.covariance = covariance
        self.missing = missing
        self.max_categories = max_categories
        self.floor = floor
        self.never = never
        self.class_weight = class_weight

    def spec(self) -> TableSpec:
        return TableSpec(**self.settings(TableSpec))

    @reads
    def sample(
        self,
        n: int = 1,
        y: ArrayLike | Hashable | None = None,
        random_state: RandomState = None,
        missing: bool = False,
        given: Mapping[Any, Any] | None = None,
    ) -> tuple[Any, np.ndarray]:
        """Simulate rows from the model: k ~ Cat(π), then each column from its own density.

        Parameters
        ----------
        n : int, default=1
            The number of rows.
        y : label, array-like of shape (n,) or None, default=None
            One class for all rows, or one class per row. None draws the classes from the priors.
        random_state : int, Generator, RandomState or None, default=None
            The seed or the generator of random numbers. None gives new random numbers at each
            call.
        missing : bool, default=False
            True leaves cells empty as often as they are missing in the training rows of the class.
            Given cells are never empty.
        given : dict or None, default=None
            The values of some columns, by name or by number, such as {"age": 40}. All rows have
            these values. The other columns are drawn from p(x | given, k), and the class from
            p(k | given) if y is None.

        Returns
        -------
        rows : table
            The simulated rows, as a table of the kind and the types that the model was fitted on.
        labels : ndarray of shape (n,)
            Their classes.
        """
        rng = generator(random_state)
        drawn, labels = super().sample(n, y, rng, given)
        statistic: Any = self.stats_
        reader = self.spec().reader(self.schema_)
        gone: dict[str, np.ndarray] = {}
        if missing:
            at = positions(labels, self.classes_)
            rates = kinds.gap_rates(reader, statistic)
            gone = {name: rng.random(len(at)) < rate[at] for name, rate in rates.items()}
        parts: Any = drawn
        fixed = {} if given is None else given_columns(reader, given, n)
        return kinds.as_table(reader, parts, gone, self.schema_.native, fixed), labels
