"""The exponentials of posteriors are as accurate as those of a good library."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from verosim import kernels
from verosim.kernels.exponentials import exponentials


def computed(x: np.ndarray) -> np.ndarray:
    out = np.concatenate([x, np.zeros(-len(x) % 8)])
    exponentials(out, len(out))
    return out[: len(x)]


def test_an_exponential_is_within_one_unit_in_the_last_place_of_50_digits() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([-rng.uniform(0, 745, 1500), -(10.0 ** rng.uniform(-18, 0, 500)), [-0.0]])
    with localcontext() as context:
        context.prec = 50
        for value, found in zip(x.tolist(), computed(x).tolist(), strict=True):
            error = abs(Decimal(found) - Decimal(value).exp())
            assert error < Decimal(float(np.spacing(found)))


def test_exponentials_of_the_ends_of_the_range() -> None:
    x = np.array([0.0, -np.inf, -745.2, -1e300, np.nan])
    np.testing.assert_array_equal(computed(x), [1.0, 0.0, 0.0, 0.0, np.nan])


@pytest.mark.parametrize(("n", "C"), [(1, 1), (3, 2), (1000, 5), (70, 17), (9, 2000)])
@pytest.mark.parametrize("mode", [2, 4])
def test_posteriors_agree_with_the_formula_for_every_shape(n: int, C: int, mode: int) -> None:
    rng = np.random.default_rng(n + C)
    scores, log_prior = 30 * rng.standard_normal((n, C)), np.log(rng.dirichlet(np.ones(C)))
    joint = scores + log_prior
    power = np.exp(joint - joint.max(axis=1, keepdims=True))
    found, evidence = scores.copy(), np.zeros(n)
    assert not kernels.normalise(found, log_prior, mode, evidence)
    np.testing.assert_allclose(found, power / power.sum(axis=1, keepdims=True), rtol=3e-15)
    expected = joint.max(axis=1) + np.log(power.sum(axis=1)) if mode == 2 else np.zeros(n)
    np.testing.assert_allclose(evidence, expected, rtol=1e-13)


def test_a_row_of_probability_zero_gets_the_priors() -> None:
    prior = np.array([0.3, 0.7])
    found, evidence = np.array([[-np.inf, -np.inf], [0.0, -np.inf]]), np.zeros(2)
    assert kernels.normalise(found, np.log(prior), 4, evidence)
    np.testing.assert_allclose(found, [prior, [1.0, 0.0]])
    assert evidence[0] == -np.inf
