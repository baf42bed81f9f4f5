"""Several rules that are linear about one point, evaluated by one product of matrices.

    (x − pivot − centre) [W₁ … W_R] + [b₁ … b_R],   δ of all rules side by side

The settings of one statistic, such as all shrinkages of a covariance, are such rules.
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
    form: LinearForm  # of all rules, R · C functions
    log_prior: np.ndarray  # (R, C)

    @classmethod
    def of(cls, rules: Sequence[Decision]) -> StackedRules | None:
        """The rules side by side; None where they are not linear about one point."""
        forms = [rule.params.linear_form for rule in rules]
        linear = [form for form in forms if form is not None and form.about(forms[0])]
        if len(rules) < 2 or len(linear) < len(rules):
            return None
        coef = np.concatenate([form.coef for form in linear])
        bias = np.concatenate([form.bias for form in linear])
        form = LinearForm(linear[0].pivot, linear[0].centre, coef, bias)
        return cls(rules, form, np.array([rule.log_prior for rule in rules]))

    def log_posteriors(self, X: np.ndarray) -> list[np.ndarray]:
        """(n, C) log p(k | x) by every rule."""
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
        """(R, 2) Σ w [argmax = y] and, if asked for, Σ w log p(y | x) by every rule; no posterior
        is written down. NaN where a cell is missing or infinite."""
        sums: list[np.ndarray] = []

        def work(start: int, stop: int, scores: np.ndarray) -> None:
            part = np.zeros((len(self.log_prior), 2))
            some = weights[start:stop] if len(weights) else weights
            kernels.sum_scores(scores, self.log_prior, codes[start:stop], some, with_loss, part)
            sums.append(part)

        self._each_block(X, work)
        return np.sum(sums, axis=0)

    def _each_block(self, X: np.ndarray, use: Callable[[int, int, np.ndarray], None]) -> None:
        """use(start, stop, scores (rows, R · C)) for blocks of rows, on the threads."""
        read = self.rules[0].params.read

        def work(start: int, stop: int) -> None:
            use(start, stop, self.form.scores(read(X[start:stop])))

        map_rows(work, X)


def log_posteriors(rules: Sequence[Decision], X: Any) -> list[np.ndarray]:
    """(n, C) log p(k | x) by several rules; those linear about one point share a product."""
    stacked = StackedRules.of(rules) if isinstance(X, np.ndarray) else None
    if stacked is not None:
        found = stacked.log_posteriors(X)
        if np.isfinite(found[0]).all():
            return found
    return [rule.log_posterior(X) for rule in rules]  # which know what to do with missing cells


def score_sums(
    rules: Sequence[Decision], X: Any, codes: np.ndarray, weights: np.ndarray, with_loss: bool
) -> np.ndarray | None:
    """(R, 2) sums of scores, as `StackedRules` gives them; None where it cannot."""
    stacked = StackedRules.of(rules) if isinstance(X, np.ndarray) else None
    if stacked is None:
        return None
    found = stacked.score_sums(X, codes, weights, with_loss)
    return found if np.isfinite(found).all() else None
