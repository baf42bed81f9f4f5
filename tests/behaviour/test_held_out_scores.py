"""Scores of held-out rows are kept in a model file, and they are not shown for other rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

import verosim
from verosim import LDA, QDA, GaussianNB, VerosimError, auto, cross_validate
from verosim.files import HeldOutScores
from verosim.folds.log_densities import LogDensities

pytestmark = pytest.mark.filterwarnings("ignore")
X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("model", [GaussianNB(), LDA(), QDA()], ids=str)
def test_the_density_of_held_out_rows_is_that_of_models_without_them(model):
    found = cross_validate(model, X, y, cv=np.arange(150) % 5, log_density=True)
    each = np.empty(150)
    for fold in range(5):
        held = np.arange(150) % 5 == fold
        each[held] = type(model)().fit(X[~held], y[~held]).log_density(X[held])
    assert found.log_density is not None
    np.testing.assert_allclose(found.log_density, (each.mean(), each.std()), rtol=1e-9)


def test_weights_count_in_the_density_of_held_out_rows():
    folds = np.tile(np.arange(150) % 5, 2)
    twice = cross_validate(GaussianNB(), np.vstack([X, X]), np.tile(y, 2), folds, log_density=True)
    weighted = cross_validate(
        GaussianNB(), np.vstack([X, X, X]), np.tile(y, 3), np.tile(np.arange(150) % 5, 3),
        sample_weight=np.repeat([2.0, 0.0, 0.0], 150), log_density=True,
    )  # fmt: skip
    np.testing.assert_allclose(weighted.log_density, twice.log_density, rtol=1e-6)


def test_a_model_without_a_density_has_no_such_score():
    for model, cv in ((LDA(encode="onehot"), 3), (verosim.LeastSquares(), 3), (LDA(), "loo")):
        assert cross_validate(model, X, y, cv, log_density=True).log_density is None
    assert cross_validate(LDA(), X, y, 3).log_density is None
    assert LogDensities.of(np.array([-1.0, -np.inf])).mean_and_deviation is None
    assert LogDensities.of(np.empty(0)).mean_and_deviation is None


def test_a_pool_has_the_density_of_its_held_out_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 3)) + (np.arange(600) % 2)[:, None]
    model, table = auto(rows, np.arange(600) % 2, effort="fast")
    mean, deviation = table[0].log_density
    new = rng.normal(size=(600, 3)) + (np.arange(600) % 2)[:, None]
    found = model.log_density(new)
    assert abs(mean - found.mean()) < 0.3  # of rows that it has not seen
    assert deviation == pytest.approx(found.std(), rel=0.3)
    assert mean < model.log_density(rows).mean() - 0.05  # of rows that it has seen
    assert all(row.log_density is None for row in table.rows[1:])


def test_a_file_keeps_scores_notes_and_the_density(tmp_path):
    path = tmp_path / "model.verosim"
    found = cross_validate(LDA(), X, y, cv=5, log_density=True)
    model = LDA().fit(X, y)
    verosim.save(model, path, scores=found, notes={"source": "iris"})
    info = verosim.info(path)
    means = {name: found.mean(name) for name in ("accuracy", "neg_log_loss")}
    assert info.scores == HeldOutScores(means, 150.0, found.log_density)
    assert (info.model, info.rows, info.has_statistics) == ("LDA()", 150.0, True)
    assert info.notes == {"source": "iris"}
    assert "150 held-out rows" in str(info)
    verosim.save(model, path, scores=info.scores, notes=info.notes, statistics=False)
    again = verosim.info(path)
    assert again.scores == info.scores
    assert not again.has_statistics


def test_scores_of_auto_and_of_the_user_are_kept(tmp_path):
    path = tmp_path / "model.verosim"
    choice = auto(X, y, models=[LDA(), GaussianNB()])
    best = choice.table[0]
    verosim.save(choice.model, path, scores=choice)
    assert verosim.info(path).scores == HeldOutScores(
        {"accuracy": best.accuracy, "neg_log_loss": -best.score}, 150.0
    )
    verosim.save(choice.model, path, scores=auto(X, y, models=[LDA()], by="bic").table)
    assert list(verosim.info(path).scores.scores) == ["bic"]
    verosim.save(choice.model, path, scores={"profit": 12, "none": float("nan")})
    assert verosim.info(path).scores == HeldOutScores({"profit": 12.0}, 150.0)
    for wrong in ({"profit": "high"}, 0.98, [1.0]):
        with pytest.raises(VerosimError, match="scores must be"):
            verosim.save(choice.model, path, scores=wrong)


def test_scores_of_other_rows_are_not_kept_as_scores_of_a_changed_model(tmp_path):
    path = tmp_path / "model.verosim"
    verosim.save(LDA().fit(X, y), path, scores=cross_validate(LDA(), X, y, cv=5))
    before = verosim.info(path)
    model = verosim.load(path).partial_fit(X[:50], y[:50])
    verosim.save(model, path)
    assert verosim.info(path).scores is None
    verosim.save(model, path, scores=before.scores)  # the user keeps them, and their rows show it
    assert verosim.info(path).scores.rows == 150
    assert verosim.info(path).rows == 200
