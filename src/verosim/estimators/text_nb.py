"""Naive Bayes for texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verosim.axes import Vocabulary
from verosim.densities.estimates import best_scores
from verosim.errors import VerosimError
from verosim.estimators.one_state import reads
from verosim.estimators.text import TextSpec
from verosim.estimators.text_classifier import TextClassifier

if TYPE_CHECKING:
    from verosim.typing import ClassWeight, Priors


class TextNB(TextClassifier):
    """Naive Bayes for texts: it counts the words of each class directly from strings.

    Use it to classify texts of any length, without a separate vectorizer. X is a list, an array, a
    series or a column of strings. A token is a run of two or more word characters of any language,
    in lower case by default; these are the tokens of scikit-learn's `CountVectorizer`. The log
    discriminant of class k depends on `model`:

        multinomial   δ_k(x) = log π_k + Σ_i x_i log φ_ik,     φ_ik = (n_ik + α) / (n_k + α V)
        bernoulli     δ_k(x) = log π_k + Σ_i [ b_i log φ_ik + (1 − b_i) log(1 − φ_ik) ],
                                                               φ_ik = (m_ik + α) / (m_k + 2α)
        complement    δ_k(x) = log π_k − Σ_i x_i log θ_ik,     θ_ik is φ_ik of all other classes
        contrast      δ_k(x) = log π_k + Σ_i x_i (log φ_ik − log θ_ik)

    Here π_k is the prior of class k, x_i is the amount of token i in the text, and b_i is 1 if the
    token occurs and 0 if not. n_ik is the amount of token i in class k, and n_k is the sum over all
    V tokens. m_ik is the number of texts of class k that have token i, and m_k is the number of
    texts of class k. The vocabulary grows with every text. Tokens that did not occur at fit are
    ignored at predict. A missing text has no tokens.

    The amount of a token depends on `weighting`. Let c_i be the number of times that token i occurs
    in the text:

        counts   x_i = c_i
        l2       x_i = (1 + log c_i) / √(Σ_j (1 + log c_j)²)     over all tokens j of the text

    With "l2" all texts have the norm 1, so a long text does not outweigh short ones, and a word
    that is repeated does not count as new evidence each time. `model="contrast"` with
    `weighting="l2"` is usually the most accurate setting. Its scores are not log-probabilities of
    a density, so use `calibrate(model, X, y, method="length")` if you need probabilities.

    Parameters
    ----------
    model : {"multinomial", "bernoulli", "complement", "contrast"}, default="multinomial"
        The density of a text. "multinomial" uses the counts of the tokens. "bernoulli" uses their
        presence and absence. "complement" scores each class by the tokens of all other classes.
        "contrast" scores each class by its tokens against those of all other classes.
        "multinomial", "complement" and "contrast" use the same counts, so a change between them
        needs no new fit.
    ngrams : tuple of (int, int), default=(1, 1)
        The shortest and the longest n-gram, in tokens, or in characters with
        `analyzer="char_wb"`. (1, 2) counts single tokens and pairs.
    min_count : float, default=1
        Tokens with a smaller total count are ignored. With `weighting="l2"`, it is the number of
        texts that have the token. The tokens stay in the model; `prune` removes them.
    vocabulary : list of str, set of str, dict or None, default=None
        The only tokens to count. A dict maps tokens to the numbers 0, 1, 2 and so on. None counts
        all tokens.
    hashed : int or None, default=None
        A number of buckets, a power of two. Tokens are then counted by their hash, which limits the
        memory, but the tokens have no names. None counts the tokens themselves.
    lowercase : bool, default=True
        True counts 'Word' and 'word' as the same token.
    analyzer : {"word", "char_wb"}, default="word"
        "word" counts words. "char_wb" counts the n-grams of the characters of each word, with a
        space before and after the word. Words are then separated by spaces only. Use it with
        `ngrams=(3, 5)` and `min_count=3` for short or misspelt texts.
    weighting : {"counts", "l2"}, default="counts"
        The amount of a token in a text. "counts" is the number of times that it occurs. "l2" is 1
        plus the logarithm of that number, divided by the norm of the text. `model="bernoulli"`
        needs "counts".
    alpha : float or "cv", default=1.0
        The pseudo-count α that is added to the count of every token. "cv" chooses α by the log-loss
        on held-out rows, see `alpha_`. With `weighting="l2"` or `model="contrast"`, it is the
        log-loss at the best temperature, and α is one of 0.003, 0.01, 0.03, 0.1, 0.3 and 1.
    priors : array-like, dict, {"laplace", "uniform"}, ("laplace", α) or None, default=None
        The class priors π_k. None uses the share of each class, n_k/n, or uniform priors with
        model="complement" or model="contrast". "laplace" uses (n_k + 1)/(n + C), and ("laplace", α)
        uses (n_k + α)/(n + αC). "uniform" gives all classes the same prior. An array is in the
        order of `classes_`. A dict maps labels to priors.
    stop_words : {"english", "spanish"}, iterable of str or None, default=None
        Tokens that are left out before n-grams are made. A name uses a list of verosim with the
        function words of the language. The tokens of a given list are compared as they are, so
        write them in lower case. It needs `analyzer="word"`.
    strip_accents : {"ascii", "unicode"} or None, default=None
        "unicode" replaces each character by its form without accents: 'é' becomes 'e'. "ascii" also
        removes all other characters that are not ASCII. None keeps accents.
    min_df : int or float, default=1
        Tokens that fewer texts have are ignored: a number of texts, or a share of the texts if it
        is a float. The tokens stay in the model, so rows can still be added and removed.
    max_df : int or float, default=1.0
        Tokens that more texts have are ignored: a number of texts, or a share of the texts if it is
        a float.
    tokenizer : callable or None, default=None
        A function that splits a text into a list of tokens, in place of the runs of two or more
        word characters. It gets the text in lower case and without accents, as these settings ask
        for. It runs in Python, so counting is many times slower. It needs `analyzer="word"`.
    max_tokens : int, default=16777216
        The largest number of different tokens in memory. If the texts have more, the rarest tokens
        are removed while the texts are read, as by `prune`, and a warning gives the smallest count
        that was kept. The model then depends on the order of the texts. Memory is 100 to 250 bytes
        for each token, plus 12 bytes for each class in which it occurs.
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
        The total weight of the texts of each class.
    class_prior_ : ndarray of shape (C,)
        The class priors π_k in use.
    alpha_ : float
        The pseudo-count in use: the parameter `alpha`, or the value chosen for "cv".
    tokens_ : ndarray of shape (V,)
        The tokens in use, in the order of the columns of `feature_log_prob_`. It does not exist
        with `hashed`.
    vocabulary_ : dict
        Maps each token in use to its column of `feature_log_prob_`. It does not exist with
        `hashed`.
    feature_log_prob_ : ndarray of shape (C, V)
        log φ_ik, the log probability of token i in class k. With model="complement" or
        model="contrast", that of the multinomial model of the same counts.
    n_parameters_ : int
        The number of free parameters: C (V − 1) shares of tokens (C V with model="bernoulli"), and
        C − 1 priors if they are estimated.
    n_features_in_ : int
        The number of columns of X at fit, which is 1.
    feature_names_in_ : ndarray of shape (1,)
        The name of the column of texts. It exists only if X had a name.
    schema_ : Schema
        How each column of the table is read. It exists only after a fit on a table.
    stats_ : Statistic
        The counts of the tokens. The model is computed from them.

    See Also
    --------
    MultinomialNB : For counts that are already in a matrix.
    NaiveBayes : For tables that have texts and other columns.

    References
    ----------
    McCallum & Nigam (1998), A comparison of event models for naive Bayes text classification,
    AAAI-98 Workshop on Learning for Text Categorization, 41–48.
    Rennie, Shih, Teevan & Karger (2003), Tackling the poor assumptions of naive Bayes text
    classifiers, Proceedings of ICML 2003, 616–623.

    Examples
    --------
    >>> texts = ["win cash now", "cash prize, win", "lunch at noon?", "see you at lunch"]
    >>> model = TextNB().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["a cash prize", "noon, then"]).tolist()
    ['spam', 'ham']
    >>> [token for token, _ in model.top_tokens(2)["ham"]]
    ['at', 'lunch']
    """

    def __init__(
        self,
        model: Literal["multinomial", "bernoulli", "complement", "contrast"] = "multinomial",
        ngrams: tuple[int, int] = (1, 1),
        min_count: float = 1,
        vocabulary: Iterable[str] | Mapping[str, int] | None = None,
        hashed: int | None = None,
        lowercase: bool = True,
        analyzer: Literal["word", "char_wb"] = "word",
        weighting: Literal["counts", "l2"] = "counts",
        alpha: float | Literal["cv"] = 1.0,
        priors: Priors = None,
        stop_words: Literal["english", "spanish"] | Iterable[str] | None = None,
        strip_accents: Literal["ascii", "unicode"] | None = None,
        min_df: float = 1,
        max_df: float = 1.0,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        max_tokens: int = 2**24,
        class_weight: ClassWeight = None,
    ) -> None:
        self.model = model
        self.ngrams = ngrams
        self.min_count = min_count
        self.vocabulary = vocabulary
        self.hashed = hashed
        self.lowercase = lowercase
        self.analyzer = analyzer
        self.weighting = weighting
        self.alpha = alpha
        self.priors = priors
        self.stop_words = stop_words
        self.strip_accents = strip_accents
        self.min_df = min_df
        self.max_df = max_df
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.class_weight = class_weight

    def spec(self) -> TextSpec:
        return TextSpec(**self.settings(TextSpec))

    # Tokens ------------------------------------------------------------------------------

    @property
    def tokens_(self) -> np.ndarray:
        """(V,) the tokens in use, in the order of the columns of `feature_log_prob_`."""
        params = self.fitted("tokens_").params
        if not isinstance(params.codes, Vocabulary):
            raise AttributeError("tokens_ does not exist, because hashed tokens have no names.")
        return np.array(params.tokenizer.shown(params.codes.tokens()), dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Maps each token in use to its column of `feature_log_prob_`."""
        return {token: i for i, token in enumerate(self.tokens_.tolist())}

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """(C, V) log φ, the log probability of each token in each class."""
        return self.fitted("feature_log_prob_").params.log_mass.T

    @reads
    def top_tokens(self, n: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """List the tokens that are most typical of each class.

        The score of token i in class k is its part of the Kullback–Leibler divergence between the
        texts of class k and all texts:

            s_ik = φ_ik log(φ_ik / φ_i),   φ_i = Σ_k (n_k/n) φ_ik

        Tokens that are common in all classes and tokens that are rare get low scores.

        Parameters
        ----------
        n : int, default=10
            The number of tokens per class.

        Returns
        -------
        dict
            For each label, a list of (token, score), best first.
        """
        if not isinstance(self.checked_state().statistic.axes.codes, Vocabulary):
            raise VerosimError("Hashed tokens have no names.", "Fit the model with hashed=None.")
        tokens = self.tokens_
        mass = np.exp(self.feature_log_prob_)  # (C, V)
        there = self.class_count_ > 0
        share = np.where(there, self.class_count_, 0.0)
        overall = (share / share.sum()) @ mass
        out: dict[Any, list[tuple[str, float]]] = {}
        for c, label in enumerate(self.classes_.tolist()):
            if not there[c]:
                out[label] = []
                continue
            score = mass[c] * np.log(mass[c] / overall)
            out[label] = [(str(tokens[i]), float(score[i])) for i in best_scores(score, tokens, n)]
        return out
