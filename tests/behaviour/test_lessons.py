"""The lessons run, draw a picture of reasonable size, and show what they claim."""

from __future__ import annotations

import re
from importlib import import_module

import numpy as np
import pytest
from examples.lessons import NAMES
from examples.lessons.run import LANGUAGES, picture_of, save, texts_of

from tests.lessons import lesson

pytestmark = pytest.mark.slow  # each lesson and its pictures
FORMULA = re.compile(r"\$[^$]*\$")


@pytest.mark.parametrize("name", NAMES)
def test_draws_a_picture(name, tmp_path):
    for language in LANGUAGES:
        path = picture_of(name, language, tmp_path)
        save(name, lesson(name), path, language)
        picture = path.read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert 10_000 < len(picture) < 200_000
    assert len(str(lesson(name)).splitlines()) > 2


@pytest.mark.parametrize("name", NAMES)
def test_every_text_has_a_spanish_form(name):
    """Every word of a picture is in the list of Spanish texts, except in formulas."""
    from matplotlib.figure import Figure

    module = import_module(f"examples.lessons.{name}")
    figure = Figure(figsize=module.SIZE)
    module.draw(lesson(name), figure)
    for artist in texts_of(figure):
        text = FORMULA.sub("", artist.get_text())
        for phrase in sorted(module.SPANISH, key=len, reverse=True):
            text = text.replace(FORMULA.sub("", phrase), "")
        assert re.findall(r"[A-Za-z]{3,}", text) == [], artist.get_text()


def test_far_points():
    """They turn least squares and LDA, and leave logistic regression and robust LDA."""
    found = lesson("far_points")
    for name in ("least squares", "LDA"):
        assert found.turned(name) > 30
        assert found.with_far[name].error > 5 * found.without[name].error
    assert found.turned("logistic regression") < 0.1
    assert found.turned("LDA, robust") < 2
    for name in ("logistic regression", "LDA, robust"):
        assert found.with_far[name].error < found.without[name].error + 0.002
    two = found.without["least squares"], found.with_far["least squares"]
    for fit, lda in zip(two, (found.without["LDA"], found.with_far["LDA"]), strict=True):
        assert fit.angle == pytest.approx(lda.angle, abs=1e-6)  # the direction is always LDA's


def test_ambiguous_regions():
    """One-versus-rest and one-versus-one have them, K functions do not."""
    found = lesson("ambiguous_regions")
    share = {name: found.ambiguous(name, found.cells).mean() for name in found.models}
    assert share["one-versus-rest"] > 0.1
    assert share["one-versus-one"] > 0.005
    assert share["K functions"] == 0
    claims = found.models["one-versus-rest"].claims(found.cells).sum(axis=1)
    assert (claims == 0).any()
    assert (claims == 2).any()
    votes = found.models["one-versus-one"].votes(found.cells)
    alike = (votes == 1).all(axis=1)
    np.testing.assert_array_equal(alike, found.ambiguous("one-versus-one", found.cells))


def test_perceptron():
    """It ends where a line parts the classes, within Novikoff's bound; elsewhere it does not."""
    found = lesson("perceptron")
    assert found.ended.converged_
    assert found.ended.mistakes_[-1] == found.ended.criterion_[-1] == 0
    assert 0 < found.ended.mistakes_.sum() <= found.bound
    assert (found.ended.predict(found.parted[0]) == found.parted[1]).all()
    for course in (found.last, found.mean):
        assert not course.model.converged_
        assert course.model.criterion_.min() > 0
    assert found.mean.wobble < found.last.wobble / 10
    half = slice(len(found.mean.errors) // 2, None)
    assert np.ptp(found.mean.errors[half]) < np.ptp(found.last.errors[half]) / 10
    assert found.mean.errors[half].max() < found.last.errors[half].min()


def test_separable():
    """‖w‖ grows like log t at nearly 1/margin without a penalty, and levels off with one."""
    found = lesson("separable")
    norms = np.array(found.norms)
    assert (np.diff(norms[9::10]) > 0).all()
    decades = norms[[9, 99, 999]]
    assert (np.diff(decades) > 1).all()
    assert 0.85 / found.margin < found.slope < 1.05 / found.margin
    assert (found.free[len(norms)].predict(found.X) == found.y).all()
    ended = [*found.penalised.values(), found.overlapping]
    for model, minimum in zip(ended, found.minima, strict=True):
        assert model.n_iter_ < len(norms)
        assert model.norm_curve_[-1] == pytest.approx(minimum, rel=0.05)
    kept = np.linalg.norm(found.kept.coef_)
    assert np.isfinite(kept)
    assert found.kept.regularisation_ > 0
    assert "separates the classes" in found.warning
    cosine = found.free[len(norms)].coef_[0] @ found.widest / norms[-1] * found.margin
    assert cosine > 0.99


def test_lda_logistic():
    """The weights meet like 1/√n where classes are Gaussian, and part where they are not."""
    found = lesson("lda_logistic")
    gaussian, groups = found.worlds.values()
    assert found.formula < 1e-11
    assert (np.diff(gaussian.between) < 0).all()
    sizes = import_module("examples.lessons.lda_logistic").SIZES
    slope = np.polyfit(np.log(sizes), np.log(gaussian.between), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.1)
    assert (found.off[:, -1] < 0.03).all()
    assert groups.between.min() > 0.3
    assert abs(gaussian.errors[0] - gaussian.errors[1]) < 0.002
    assert groups.errors[1] < groups.errors[0] - 0.01
