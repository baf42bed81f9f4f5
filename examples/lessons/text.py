"""Text classification: from short news to a class, and the words that decided it.

    p(k | text) ∝ π_k Π_tokens φ_token|k,    φ_i|k = (ñ_ik + α) / (ñ_k + α V)

ñ_ik is how often word i occurs in the texts of class k, ñ_k is the number of all tokens of the
class, and V is the number of different words. The log-odds of two classes are a sum with one term
per token, so each prediction can be explained by its words.
Reference: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, chapter 13.

    python -m examples.lessons text
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.lessons.style import BLUE, CLASSES, DARK, QUIET, RED
from verosim import TextNB, cross_validate, explain
from verosim.insight import Explanation

SIZE = (9.6, 3.9)  # of the picture, in inches
NEWS = {
    "sport": """
The team won the final with two late goals
Our striker scored twice in the first half
The coach praised the defence after the match
Rain stopped the tennis final in the third set
The captain missed a penalty in the last minute
Fans filled the stadium for the opening match
The runner broke the national record by a second
A young goalkeeper saved the team in the cup
The club signed a striker from the second division
The referee showed a red card before half time
They lost the match but won the championship
The swimmer took gold in the final race
The coach changed the team after the defeat
A late goal gave the visitors a draw
The tennis player won her third title this season
The league starts in March with twelve teams
""",
    "politics": """
The senate approved the new law on schools
The president will meet the opposition on Monday
Voters choose a new mayor in the second round
The minister defended the reform in congress
The party lost its majority in the senate
Congress votes on the pension reform this week
The candidate promised a law against corruption
The opposition asked the minister to resign
Two deputies left the party after the vote
The government won the vote by a small majority
The court stopped the election law
The mayor opened the debate on housing
A new constitution needs two thirds of the votes
The president signed the reform of the police
The campaign for the election starts in March
The minister lost the support of her party
""",
    "business": """
The company sold its bank to a foreign group
Shares of the airline fell after the report
The central bank raised the interest rate
Prices of copper reached a record this week
The company will open a new plant in March
Sales of electric cars grew in the second quarter
The bank lost clients after the merger
Investors bought shares of the mining company
The market closed with small losses on Monday
Exports of fruit grew for the third year
The peso fell against the dollar
The firm signed a contract with its workers
Inflation was lower than the market expected
The shop chain reported higher profits this season
The group won a contract for the new port
A small firm sells software to foreign banks
""",
}
QUESTION = "The minister said that the central bank may cut the interest rate before the election"


@dataclass(frozen=True)
class Lesson:
    model: TextNB
    accuracy: dict[str, float]  # of the kinds of naive Bayes, on held-out texts
    confusion: np.ndarray  # (3, 3) true class × predicted class, multinomial
    top: dict[str, list[str]]
    why: Explanation
    proba: np.ndarray  # (3,) of the question

    def __str__(self) -> str:
        lines = ["accuracy on held-out texts"]
        lines += [f"    {name:<24} {value:.1%}" for name, value in self.accuracy.items()]
        lines += [f"{label}: {', '.join(words)}" for label, words in self.top.items()]
        shares = ", ".join(
            f"{label} {p:.2f}" for label, p in zip(self.model.classes_, self.proba, strict=True)
        )
        return "\n".join([*lines, QUESTION, shares, str(self.why)])


def learn() -> Lesson:
    """Fit the model, test it on held-out texts, and explain one new text."""
    texts = [line for news in NEWS.values() for line in news.strip().split("\n")]
    labels = np.repeat(list(NEWS), [len(news.strip().split("\n")) for news in NEWS.values()])
    kinds = {
        "multinomial": TextNB(stop_words="english"),
        "Bernoulli": TextNB("bernoulli", stop_words="english"),
        "multinomial, all words": TextNB(),
    }
    found = {name: cross_validate(model, texts, labels, cv=8) for name, model in kinds.items()}
    model = kinds["multinomial"].fit(texts, labels)
    return Lesson(
        model,
        {name: result.mean("accuracy") for name, result in found.items()},
        found["multinomial"].confusion,
        {k: [word for word, _ in top] for k, top in model.top_tokens(6).items()},
        explain(model, [QUESTION]),
        model.predict_proba([QUESTION])[0],
    )


def draw(found: Lesson, figure: Any) -> None:
    words, reasons = figure.subplots(1, 2, width_ratios=[1, 1.1])
    shown = [word for label in NEWS for word in found.top[label][:4]]
    shares = found.model.learned("x0", top=100)
    order = list(shares.classes)
    for label, (colour, marker) in zip(NEWS, CLASSES, strict=True):
        at = [shares.heads.index(word) for word in shown]
        values = shares.values[order.index(label), at]
        look = {"color": colour, "marker": marker, "ls": "", "ms": 6, "alpha": 0.85}
        words.plot(values, range(len(shown)), **look, label=label, clip_on=False, zorder=3)
    words.set_yticks(range(len(shown)), shown)
    words.set(ylim=(len(shown) - 0.5, -0.5), xlim=(0, 0.026), xlabel="$φ$, share of the tokens")
    words.set_title("words that are typical of a class")
    words.grid(axis="y", color=QUIET, alpha=0.25, lw=0.6)
    words.legend(loc="center right")
    parts = found.why.tokens(0)
    total = float(found.why.prior_difference[0])
    for row, size in enumerate(parts.values()):
        how = {"color": RED} if size > 0 else {"color": BLUE, "hatch": "//", "edgecolor": "white"}
        reasons.barh(row, size, left=total, height=0.62, **how)
        total += size
    reasons.plot([total, total], [-0.5, len(parts) - 0.5], color=DARK, lw=0.8, ls=":")
    reasons.axvline(0, color=QUIET, lw=0.8)
    reasons.set_yticks(range(len(parts)), [f"“{word}”" for word in parts])
    reasons.set(ylim=(len(parts) - 0.5, -0.5), xlim=(-1.6, 1.1))
    reasons.set(xlabel="log-odds of business against politics")
    reasons.set_title(f"why p(business) = {found.proba[order.index('business')]:.2f}")


SPANISH = {
    "$φ$, share of the tokens": "$φ$, proporción de las palabras",
    "words that are typical of a class": "palabras típicas de una clase",
    "sport": "deporte",
    "politics": "política",
    "business": "negocios",
    "log-odds of business against politics": "log-razón de negocios contra política",
    "why p(business)": "por qué p(negocios)",
}
