"""Several linear rules with the same centre, evaluated by one matrix product.

    (x − pivot − centre) [W₁ … W_R] + [b₁ … b_R]

W_r and b_r are the weights and constants of rule r. Models with different settings for the same
statistic, such as several shrinkages of one covariance, give such rules.
Reference: Bishop (2006), Pattern Recognition and Machine Learning, §4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verosim import kernels
from verosim.bayes.rule import LOG_POSTERIOR, Decision
from verosim.densities import LinearForm
from verosim.engines import map_rows


@dataclass(frozen=True)
class StackedRules:
    """R rules over C classes."""

    rules: Sequence[Decision]
    form: LinearForm  # the R · C linear functions of all rules
    log_prior: np.ndarray  # (R, C)

    @classmethod
    def of(cls, rules: Sequence[Decision]) -> StackedRules | None:
        """The stacked rules; None if they are not linear with the same centre."""
        forms = [rule.params.linear_form for rule in rules]
        linear = [form for form in forms if form is not None and form.about(forms[0])]
        if len(rules) < 2 or len(linear) < len(rules):
            return None
        coef = np.concatenate([form.coef for form in linear])  # (R · C, d)
        bias = np.concatenate([form.bias for form in linear])  # (R · C,)
        form = LinearForm(linear[0].pivot, linear[0].centre, coef, bias)
        return cls(rules, form, np.array([rule.log_prior for rule in rules]))

    def log_posteriors(self, X: np.ndarray) -> list[np.ndarray]:
        """(n, C) log p(k | x) for each rule."""
        n, (R, C) = X.shape[0], self.log_prior.shape
        out = [np.empty((n, C)) for _ in range(R)]

        def work(start: int, stop: int, scores: np.ndarray) -> None:
            evidence = np.empty(stop - start)
            for r in range(R):
                part = out[r][start:stop]
                part[...] = scores[:, r * C : (r + 1) * C]
                kernels.normalise(part, self.log_prior[r], LOG_POSTERIOR, evidence)

        self._each_block(X, work)
        return out

    def score_sums(
        self, X: np.ndarray, codes: np.ndarray, weights: np.ndarray, with_loss: bool
    ) -> np.ndarray:
        """(R, 2) Σ w [argmax = y] and, if `with_loss`, Σ w log p(y | x) for each rule.

        The posteriors are not stored. The sums are NaN if a cell is missing or infinite.
        """
        sums: list[np.ndarray] = []

        def work(start: int, stop: int, scores: np.ndarray) -> None:
            part = np.zeros((len(self.log_prior), 2))
            some = weights[start:stop] if len(weights) else weights
            kernels.sum_scores(scores, self.log_prior, codes[start:stop], some, with_loss, part)
            sums.append(part)

        self._each_block(X, work)
        return np.sum(sums, axis=0)

    def _each_block(self, X: np.ndarray, use: Callable[[int, int, np.ndarray], None]) -> None:
        """Call use(start, stop, scores) for each block of rows, in parallel.

        The scores have shape (rows, R · C).
        """
        read = self.rules[0].params.read

        def work(start: int, stop: int) -> None:
            use(start, stop, self.form.scores(read(X[start:stop])))

        map_rows(work, X)


def log_posteriors(rules: Sequence[Decision], X: Any) -> list[np.ndarray]:
    """(n, C) log p(k | x) for several rules; linear rules with one centre share one product."""
    stacked = StackedRules.of(rules) if isinstance(X, np.ndarray) else None
    if stacked is not None:
        found = stacked.log_posteriors(X)
        if np.isfinite(found[0]).all():
            return found
    return [rule.log_posterior(X) for rule in rules]  # these also score rows with missing cells


def score_sums(
    rules: Sequence[Decision], X: Any, codes: np.ndarray, weights: np.ndarray, with_loss: bool
) -> np.ndarray | None:
    """(R, 2) sums of scores of several rules, from `StackedRules.score_sums`.

    None if the rules cannot be stacked or a cell is missing or infinite.
    """
    stacked = StackedRules.of(rules) if isinstance(X, np.ndarray) else None
    if stacked is None:
        return None
    found = stacked.score_sums(X, codes, weights, with_loss)
    return found if np.isfinite(found).all() else None
