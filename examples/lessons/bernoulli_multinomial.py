"""Bernoulli naive Bayes sees absence and length, multinomial naive Bayes counts repetition.

    Bernoulli:    log p(x | k) = Σ_i [x_i log φ_i|k + (1 − x_i) log(1 − φ_i|k)],   x_i = 0 or 1
    multinomial:  log p(x | k) = Σ_i c_i log φ_i|k,                                c_i = counts

Bernoulli has one factor for each word of the vocabulary, present or absent, so a word counts once
and a long document has more words present. The multinomial has one factor for each token, so a
word counts as often as it occurs, and an absent word has no factor.
Reference: McCallum & Nigam (1998), A comparison of event models for naive Bayes text
classification, AAAI workshop on learning for text categorization.

    python -m examples.lessons bernoulli_multinomial
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import BLUE, QUIET, RED
from verosim import BernoulliNB, MultinomialNB

SIZE = (9.8, 3.3)  # of the picture, in inches
WORDS = ("goal", "match", "team", "win", "vote", "law", "party", "budget")
SHARES = np.array(  # of the tokens, in the classes sport and politics
    [
        [0.24, 0.22, 0.2, 0.16, 0.05, 0.04, 0.05, 0.04],
        [0.04, 0.05, 0.08, 0.1, 0.24, 0.22, 0.2, 0.07],
    ]
)
LENGTH = 8  # mean number of tokens of a document
TIMES = np.arange(0, 9)  # how often "goal" occurs
COPIES = np.arange(1, 7)
LENGTHS = (4, 16)  # mean lengths of two classes with the same shares
DOCUMENTS = 400


def documents(rng: np.random.Generator, shares: np.ndarray, lengths: Any) -> np.ndarray:
    """(n, words) counts: a Poisson number of tokens, at least one, drawn with these shares."""
    return np.array([rng.multinomial(max(rng.poisson(length), 1), shares) for length in lengths])


@dataclass(frozen=True)
class Lesson:
    """Log-odds of sport against politics of the two models, Bernoulli first."""

    repeated: np.ndarray  # (2, times) of a document with "vote" once and "goal" several times
    copied: np.ndarray  # (2, copies) of a document that is repeated as a whole
    empty: np.ndarray  # (2,) of a document without words
    absence: float  # the sum of log(1 − φ_i) of sport less that of politics, and the prior
    prior: float  # the log-odds of the priors
    by_length: np.ndarray  # (2,) error on new documents of classes that differ in length only
    lengths: np.ndarray  # (n,) tokens of some of these documents
    long: np.ndarray  # (2, n) their probability to be of the long class

    def __str__(self) -> str:
        rows = [
            ("'vote' once, 'goal' once", self.repeated[:, 1]),
            ("'vote' once, 'goal' 8 times", self.repeated[:, 8]),
            ("a document", self.copied[:, 0]),
            ("the document 6 times", self.copied[:, -1]),
            ("an empty document", self.empty),
        ]
        lines = [f"{'log-odds of sport':<36} {'Bernoulli':>10} {'multinomial':>12}"]
        lines += [f"{name:<36} {values[0]:>+10.2f} {values[1]:>+12.2f}" for name, values in rows]
        lines.append(f"{'log-odds of the priors':<36} {self.prior:>+10.2f} {self.prior:>+12.2f}")
        bernoulli, multinomial = self.by_length
        lines.append(
            f"{'error, classes that differ in length':<36} {bernoulli:>10.1%} {multinomial:>12.1%}"
        )
        return "\n".join(lines)


def log_odds(model: Any, rows: Any) -> np.ndarray:
    """(n,) log p(sport | x) / p(politics | x); the labels are 0 (politics) and 1 (sport)."""
    joint = model.log_joint(np.asarray(rows))
    return joint[:, 1] - joint[:, 0]


def learn() -> Lesson:
    """Fit both models on simulated documents, and read the log-odds of chosen documents."""
    rng = np.random.default_rng(3)
    y = np.repeat([1, 0], [DOCUMENTS, DOCUMENTS // 2])  # two thirds are about sport
    X = np.vstack([documents(rng, SHARES[1 - k], [LENGTH] * np.sum(y == k)) for k in (1, 0)])
    models = BernoulliNB().fit(X, y), MultinomialNB().fit(X, y)
    goal, vote = WORDS.index("goal"), WORDS.index("vote")
    repeated = np.zeros((len(TIMES), len(WORDS)))
    repeated[:, vote], repeated[:, goal] = 1, TIMES
    document = np.zeros(len(WORDS))
    document[[goal, WORDS.index("team"), WORDS.index("law")]] = 1, 1, 1
    copies = COPIES[:, None] * document
    absent = np.log(1 - np.array([models[0].learned(f"x{i}").values[:, 1] for i in range(8)]))
    prior = float(np.log(models[0].class_prior_[1] / models[0].class_prior_[0]))

    kinds = np.arange(DOCUMENTS) % 2
    mean = np.array(LENGTHS)
    same = SHARES.mean(axis=0)
    train, test = (documents(rng, same, mean[kinds]) for _ in range(2))
    pair = BernoulliNB().fit(train, kinds), MultinomialNB().fit(train, kinds)
    return Lesson(
        np.array([log_odds(model, repeated) for model in models]),
        np.array([log_odds(model, copies) for model in models]),
        np.array([log_odds(model, np.zeros((1, len(WORDS))))[0] for model in models]),
        float(absent.sum(axis=0) @ [-1, 1]) + prior,
        prior,
        np.array([np.mean(model.predict(test) != kinds) for model in pair]),
        test.sum(axis=1),
        np.array([model.predict_proba(test)[:, 1] for model in pair]),
    )


def draw(found: Lesson, figure: Any) -> None:
    repetition, copies, length = figure.subplots(1, 3)
    looks = (
        {"color": RED, "marker": "s", "ms": 4, "ls": "--", "label": "Bernoulli"},
        {"color": BLUE, "marker": "o", "ms": 4, "label": "multinomial"},
    )
    for i, look in enumerate(looks):
        repetition.plot(TIMES, found.repeated[i], **look)
        copies.plot(COPIES, found.copied[i], **look)
        dots = {key: look[key] for key in ("color", "marker", "label")}
        length.scatter(found.lengths, found.long[i], s=14, alpha=0.5, linewidths=0, **dots)
    repetition.set(xlabel="times that “goal” occurs", title="repetition: log-odds of sport")
    copies.set(xlabel="copies of the document", title="the same document repeated")
    copies.set_ylim(0, None)
    for ax in (repetition, copies):
        ax.axhline(0, color=QUIET, lw=0.8)
    length.axhline(0.5, color=QUIET, lw=0.8, ls=":")
    length.set(xlabel="tokens of the document", ylim=(-0.03, 1.03))
    length.set_title("only the length differs: p(long class)")
    repetition.legend(loc="upper left")


SPANISH = {
    "Bernoulli": "Bernoulli",
    "multinomial": "multinomial",
    "times that “goal” occurs": "veces que aparece “goal”",
    "repetition: log-odds of sport": "repetición: log-razón de deporte",
    "copies of the document": "copias del documento",
    "the same document repeated": "el mismo documento repetido",
    "tokens of the document": "palabras del documento",
    "only the length differs: p(long class)": "solo difiere el largo: p(clase larga)",
}
