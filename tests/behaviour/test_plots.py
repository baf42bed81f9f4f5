"""Plots: what their artists show, texts without overlap, given axes, many classes, bad input."""

from __future__ import annotations

import builtins
import re
import sys
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

import verosim
from verosim import VerosimError
from verosim.insight.plots import palette

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.text import Text

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
LDA = verosim.LDA().fit(X, NAMES)
QDA = verosim.QDA().fit(X, NAMES)
NB = verosim.GaussianNB().fit(X, NAMES)
RNG = np.random.default_rng(0)
LONG = "a very long value of a category that nobody wants to read in full, number "
N = 240
TABLE = {
    "a very long name of a column with many letters": RNG.normal(size=N).round(2),
    "many": [f"{LONG}{i}" for i in RNG.integers(0, 30, N)],
    "hue": RNG.choice(["red", "green", "blue"], N).tolist(),
    "count": RNG.poisson(3, N),
    "kind": RNG.choice(["yes", "no"], N).tolist(),
}
MIXED = verosim.NaiveBayes({"count": "poisson"}).fit(TABLE, "kind")
NUMBERS = verosim.NaiveBayes({"count": "histogram"}).fit(TABLE, "kind")
TAN = verosim.TAN().fit(TABLE, "kind")
MANY = 12
MANY_X = RNG.normal(size=(60 * MANY, 3)) + 4 * RNG.normal(size=(MANY, 3)).repeat(60, axis=0)
MANY_Y = np.repeat([f"class number {k}" for k in range(MANY)], 60)
MANY_QDA = verosim.QDA().fit(MANY_X, MANY_Y)
MANY_CV = verosim.cross_validate(MANY_QDA, MANY_X, MANY_Y)
CV = verosim.cross_validate(LDA, X, NAMES)
MIXED_EXPLAINED = verosim.explain(MIXED, TABLE, of="yes")
CHOICE = verosim.auto(X, NAMES, models=[verosim.LDA(), verosim.QDA(), verosim.GaussianNB()])
PATH = verosim.path(verosim.LDA(), X, NAMES, "shrinkage", [0.001, 0.01, 0.1, 0.5])
GRID = verosim.search(
    verosim.RDA(), X, NAMES, {"pooling": [0.1, 0.5], "shrinkage": [0.0, 0.1]}, cv=3
)

TEXTS = ["cheap pills today", "meeting at noon today", "cheap offer", "lunch at noon"] * 5
WORDS = verosim.TextNB().fit(TEXTS, ["spam", "ham"] * 10)
WORDS_EXPLAINED = verosim.explain(WORDS, TEXTS)

PLOTS = {
    "boundary": lambda: verosim.plot_boundary(QDA, X, NAMES, columns=(2, 3), densities=True),
    "boundary of many classes": lambda: verosim.plot_boundary(MANY_QDA, MANY_X, MANY_Y, (0, 1)),
    "boundary of a table": lambda: verosim.plot_boundary(
        NUMBERS, TABLE, "kind", columns=(0, 3), others={"hue": "red"}
    ),
    "pairs": lambda: verosim.plot_pairs(QDA, X, NAMES),
    "densities": lambda: verosim.plot_densities(MIXED),
    "densities of many classes": lambda: verosim.plot_densities(MANY_QDA),
    "nomogram": lambda: verosim.plot_nomogram(MIXED, "yes"),
    "evidence": lambda: verosim.plot_evidence(MIXED_EXPLAINED, 3),
    "evidence summary": lambda: verosim.plot_evidence_summary(MIXED_EXPLAINED),
    "effect of a number": lambda: verosim.plot_effect(MIXED_EXPLAINED, "count"),
    "effect of a category": lambda: verosim.plot_effect(MIXED_EXPLAINED, "many"),
    "effect of a number on two classes": lambda: verosim.effect(MIXED, "count").plot(),
    "effect of a category on two classes": lambda: verosim.effect(MIXED, "many").plot(),
    "effect on three classes": lambda: verosim.effect(NB, "x2").plot(),
    "importance": lambda: verosim.plot_importance(MIXED_EXPLAINED),
    "importance without rows": lambda: verosim.importance(MIXED).plot(),
    "importance of words": lambda: verosim.plot_importance(WORDS_EXPLAINED),
    "evidence summary of words": lambda: verosim.plot_evidence_summary(WORDS_EXPLAINED),
    "what if": lambda: verosim.what_if(NB, X[0], x2=5.0).plot(),
    "counterfactual": lambda: verosim.counterfactual(NB, X[0]).plot(),
    "scorecard": lambda: verosim.scorecard(MIXED).plot(),
    "calibration": lambda: verosim.plot_calibration(CV),
    "confusion": lambda: verosim.plot_confusion(CV),
    "confusion of many classes": lambda: verosim.plot_confusion(MANY_CV),
    "path": lambda: verosim.plot_path(PATH),
    "grid": lambda: verosim.plot_path(GRID),
    "selection": lambda: verosim.plot_path(verosim.select(verosim.LDA(), X, NAMES)),
    "graph": lambda: verosim.plot_graph(NB),
    "graph of a tree": lambda: verosim.plot_graph(TAN),
    "graph of a covariance": lambda: verosim.plot_graph(QDA),
    "projection": lambda: verosim.plot_projection(LDA, X, NAMES),
    "whitening": lambda: verosim.plot_whitening(LDA, X, NAMES),
    "sample": lambda: verosim.plot_sample(NB, X, NAMES, columns=(2, 3)),
    "candidates": lambda: verosim.plot_candidates(CHOICE),
    "diagnosis": lambda: verosim.diagnose(LDA, X, NAMES).plot(),
}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def overlapping(figure) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other by more than a pixel."""
    figure.canvas.draw()
    hidden = {id(text) for ax in figure.findobj(Axes) for text in not_drawn(ax)}
    boxes = [
        (text.get_text(), text.get_window_extent())
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]
    return [
        (a, b)
        for (a, one), (b, two) in combinations(boxes, 2)
        if min(one.x1, two.x1) - max(one.x0, two.x0) > 1
        and min(one.y1, two.y1) - max(one.y0, two.y0) > 1.5
    ]


def not_drawn(ax) -> list[Text]:
    """The labels of ticks outside the limits of an axis, and all labels if the axes are off."""
    found = []
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        low, high = sorted(limits)
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            inside = low - 1e-9 <= tick.get_loc() <= high + 1e-9
            if not (inside and ax.axison):
                found += [tick.label1, tick.label2]
        if not ax.axison:
            found.append(axis.label)
    return found


@pytest.mark.parametrize("name", PLOTS)
def test_no_texts_overlap(name):
    before = dict(mpl.rcParams)
    found = PLOTS[name]()
    figure = getattr(found, "figure", found)
    assert overlapping(figure) == []
    assert dict(mpl.rcParams) == before, "the style of the caller changes"


@pytest.mark.parametrize("name", ["boundary", "densities", "confusion", "evidence", "graph"])
def test_dark_background(name):
    """No text or line has a colour that disappears on black."""
    with plt.style.context("dark_background"):
        found = PLOTS[name]()
        figure = getattr(found, "figure", found)
        assert overlapping(figure) == []
        for text in figure.findobj(Text):
            if text.get_text() and text.get_bbox_patch() is None:
                assert sum(mpl.colors.to_rgb(text.get_color())) > 0.9, text.get_text()


ON_AXES = {
    "boundary": lambda ax: verosim.plot_boundary(QDA, X, NAMES, columns=(0, 1), ax=ax),
    "densities": lambda ax: verosim.plot_densities(NB, "x2", ax=ax),
    "nomogram": lambda ax: verosim.plot_nomogram(MIXED, ax=ax),
    "evidence": lambda ax: verosim.plot_evidence(MIXED_EXPLAINED, ax=ax),
    "summary": lambda ax: verosim.plot_evidence_summary(MIXED_EXPLAINED, ax=ax),
    "effect": lambda ax: verosim.plot_effect(MIXED_EXPLAINED, "hue", ax=ax),
    "importance": lambda ax: verosim.plot_importance(MIXED_EXPLAINED, ax=ax),
    "calibration": lambda ax: verosim.plot_calibration(CV, ax=ax),
    "confusion": lambda ax: verosim.plot_confusion(CV, ax=ax),
    "path": lambda ax: verosim.plot_path(PATH, ax=ax),
    "graph": lambda ax: verosim.plot_graph(NB, ax=ax),
    "projection": lambda ax: verosim.plot_projection(LDA, X, NAMES, ax=ax),
    "candidates": lambda ax: verosim.plot_candidates(CHOICE, ax=ax),
}


@pytest.mark.parametrize("name", ON_AXES)
def test_draws_on_the_axes_that_are_given(name):
    _, ax = plt.subplots()
    assert ON_AXES[name](ax) is ax
    assert len(plt.get_fignums()) == 1
    with pytest.raises(VerosimError, match="ax must be matplotlib axes or None; got 3"):
        ON_AXES[name](3)


@pytest.mark.parametrize(
    "draw",
    [
        lambda figure: verosim.plot_pairs(QDA, X, NAMES, figure=figure),
        lambda figure: verosim.plot_densities(NB, figure=figure),
        lambda figure: verosim.plot_whitening(LDA, X, NAMES, figure=figure),
        lambda figure: verosim.plot_sample(NB, X, NAMES, columns=(0, 1), figure=figure),
    ],
)
def test_draws_on_a_subfigure(draw):
    left, _ = plt.figure(layout="constrained").subfigures(1, 2)
    assert draw(left) is left
    with pytest.raises(VerosimError, match="figure must be a matplotlib figure"):
        draw("figure")


# What the pictures show ----------------------------------------------------------------------


def test_boundary_layers():
    def layers(**off):
        ax = verosim.plot_boundary(QDA, X, NAMES, columns=(2, 3), **off)
        return len(ax.images), len(ax.lines), len(ax.collections)

    images, lines, clouds = layers()
    assert (images, clouds) == (1, 3)
    assert layers(regions=False) == (0, lines, clouds)
    assert layers(points=False) == (images, lines, 0)
    assert layers(ellipses=False)[1] == lines - 3 * 4  # the outline, two axes and the centre
    assert layers(curves=False)[1] == 3 * 4
    assert layers(densities=True)[2] > clouds


def test_boundary_curves_tie_the_two_best_classes():
    ax = verosim.plot_boundary(QDA, columns=(2, 3), ellipses=False)
    checked = 0
    for line in ax.lines:
        points = np.column_stack(line.get_data())
        points = points[~np.isnan(points).any(axis=1)]
        if len(points):
            q = [QDA.boundary(a, "setosa", (2, 3))(points) for a in QDA.classes_[1:]]
            best = np.sort(np.stack([np.zeros(len(points)), *q], axis=1), axis=1)
            np.testing.assert_allclose(best[:, -1], best[:, -2], atol=1e-8)
            checked += len(points)
    assert checked > 100


def test_densities_are_those_of_the_model():
    ax = verosim.plot_densities(NB, "x2")
    for line, mean, variance in zip(ax.lines, NB.means_[:, 2], NB.covariances_[:, 2], strict=True):
        x, height = line.get_data()
        np.testing.assert_allclose(
            height, np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        )
    shares = verosim.plot_densities(MIXED, "hue")
    table = MIXED.learned("hue")
    for line, row in zip(shares.lines, table.values, strict=True):
        np.testing.assert_allclose(line.get_xdata(), row)
    assert [t.get_text() for t in shares.get_yticklabels()] == ["blue", "green", "red"]


def test_evidence_adds_up_to_the_log_odds():
    for row in range(5):
        ax = verosim.plot_evidence(MIXED_EXPLAINED, row)
        ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose(ends[-1], MIXED_EXPLAINED.log_odds[row])
    few = verosim.plot_evidence(MIXED_EXPLAINED, 0, most=2)
    assert [t.get_text() for t in few.get_yticklabels()][-2:] == ["2 other columns", "log-odds"]
    np.testing.assert_allclose(
        few.patches[-1].get_x() + few.patches[-1].get_width(), MIXED_EXPLAINED.log_odds[0]
    )


def test_evidence_of_a_text_has_one_bar_per_token():
    texts = ["red red wine", "white wine", "dark beer", "pale beer and ale"] * 3
    model = verosim.TextNB().fit(texts, ["wine", "wine", "beer", "beer"] * 3)
    found = verosim.explain(model, ["red wine and ale"], of="wine")
    ax = verosim.plot_evidence(found)
    assert {"\u201cred\u201d", "\u201cale\u201d"} <= {t.get_text() for t in ax.get_yticklabels()}
    np.testing.assert_allclose(
        ax.patches[-1].get_x() + ax.patches[-1].get_width(), found.log_odds[0]
    )


def test_nomogram_points_give_the_posterior():
    """The points of the values of a row, scaled back, are its log-odds without the prior."""
    model = verosim.CategoricalNB().fit(
        np.column_stack([TABLE["hue"], TABLE["kind"]]), TABLE["kind"]
    )
    ax = verosim.plot_nomogram(model, "yes", "no")
    dots = [line for line in ax.lines if line.get_marker() in ("o", "s") and len(line.get_xdata())]
    drawn = np.concatenate([line.get_xdata() for line in dots])
    terms = np.concatenate([np.log(t.values[1] / t.values[0]) for t in model.learned()])
    unit = np.abs(terms).max() / 100
    np.testing.assert_allclose(np.sort(drawn), np.sort(terms / unit))


def test_confusion_and_calibration_numbers():
    ax = verosim.plot_confusion(CV, normalise=False)
    shown = {text.get_position(): text.get_text() for text in ax.texts}
    for i, j in np.argwhere(CV.confusion > 0).tolist():
        assert shown[j, i] == f"{CV.confusion[i, j]:g}"
    line = verosim.plot_calibration(CV).lines[-1]
    np.testing.assert_allclose(line.get_ydata(), CV.reliability.accuracy)
    np.testing.assert_allclose(line.get_xdata(), CV.reliability.confidence)


def test_path_marks_the_best_setting():
    ax = verosim.plot_path(PATH)
    assert ax.get_xscale() == "log"
    best = next(line for line in ax.lines if line.get_marker() == "D")
    assert best.get_xdata()[0] == PATH.best_settings["shrinkage"]
    np.testing.assert_allclose(best.get_ydata()[0], PATH.best_score)


def test_graph_has_all_arrows():
    ax = verosim.plot_graph(TAN)
    arrows = [one for one in ax.patches if type(one).__name__ == "FancyArrowPatch"]
    edges = [(a, b) for b, parents in TAN.parents_.items() for a in parents]
    assert len(arrows) == len(edges) + 1  # one arrow from the class to the frame
    dot = verosim.to_dot(TAN)
    for a, b in edges:
        assert f'"{a}" -> "{b}";' in dot
    assert dot.count('"kind" ->') == len(TAN.parents_)
    quoted = verosim.NaiveBayes().fit({'a "b"\\': [1.5, 2.5], "k": ["x", "y"]}, "k")
    assert '"a \\"b\\"\\\\";' in verosim.to_dot(quoted)
    digits = verosim.GaussianNB(floor=1e-3).fit(*load_digits(return_X_y=True))
    assert "64 columns" in {text.get_text() for text in verosim.plot_graph(digits).texts}


def test_whitened_ellipses_are_circles():
    _, right = verosim.plot_whitening(LDA, X, NAMES, method="pca").axes
    for line in right.lines:
        outline = np.column_stack(line.get_data())
        radius = np.linalg.norm(outline - (outline.max(axis=0) + outline.min(axis=0)) / 2, axis=1)
        np.testing.assert_allclose(radius, np.sqrt(-2 * np.log(0.05)), rtol=1e-3)


def test_at_most_5000_points_and_a_note():
    rows = np.random.default_rng(0).normal(size=(12_000, 2))
    labels = np.where(rows[:, 0] > 0, "a", "b")
    model = verosim.QDA().fit(rows, labels)
    ax = verosim.plot_boundary(model, rows, labels)
    assert sum(len(cloud.get_offsets()) for cloud in ax.collections) == 5_000
    assert ax.get_title(loc="left") == "5,000 of 12,000 rows are drawn"
    summary = verosim.plot_evidence_summary(verosim.explain(model, rows))
    assert "5,000 of 12,000 rows are drawn" in summary.get_title(loc="left")


def test_marks_are_unique_for_64_classes():
    found = palette.marks_of(np.arange(64))
    assert len({(mark.colour, mark.marker) for mark in found}) == 64
    assert len({(mark.colour, str(mark.dash)) for mark in found}) == 64
    assert palette.shortened("x" * 100, 20) == "x" * 12 + "…" + "x" * 7


def test_results_know_their_plot():
    for found in (CV, PATH, GRID, CHOICE, CHOICE.table, MIXED_EXPLAINED, MIXED_EXPLAINED[0]):
        _, ax = plt.subplots()
        assert found.plot(ax=ax) is ax
    assert verosim.diagnose(LDA, X, NAMES).plot().get_title(loc="left").startswith("LDA")


# Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: verosim.plot_boundary(QDA, X, NAMES), "columns must name two columns; got a mo"),
        (lambda: verosim.plot_boundary(QDA, X, NAMES, (0, 1, 2)), "columns must name two columns"),
        (lambda: verosim.plot_boundary(QDA, X, NAMES, (0, 0)), "two different columns"),
        (lambda: verosim.plot_boundary(QDA, X, NAMES, (0, 9)), "Column 9 does not exist"),
        (
            lambda: verosim.plot_boundary(QDA, columns=(0, 1), box=[1, 2]),
            "box must be an array of 2",
        ),
        (lambda: verosim.plot_boundary(verosim.QDA(), X, NAMES), "fit"),
        (lambda: verosim.plot_boundary(3), "model must be a model such as LDA"),
        (
            lambda: verosim.plot_boundary(
                verosim.LogisticRegression().fit(X[:, :2], y), X[:, :2], y, densities=True
            ),
            "LogisticRegression has no density to draw",
        ),
        (lambda: verosim.plot_densities(verosim.LogisticRegression().fit(X, y)), "has no densit"),
        (lambda: verosim.plot_nomogram(LDA), "needs a model with independent columns; got LDA"),
        (lambda: verosim.plot_nomogram(NB, "rose"), "of must be a class of the model; got 'rose'"),
        (lambda: verosim.plot_evidence(X), "found must be an Explanation; got"),
        (lambda: verosim.plot_effect(MIXED_EXPLAINED, "size"), "'size' is not a column"),
        (
            lambda: verosim.plot_confusion(np.ones((2, 3))),
            r"must be square; got the shape \(2, 3\)",
        ),
        (lambda: verosim.plot_confusion(np.eye(2), ["a"]), "has 2 classes; got 1 labels"),
        (lambda: verosim.plot_calibration(X), "found must be a Reliability or a CrossVal"),
        (lambda: verosim.plot_path(CV), "found must be a Search or a Selection; got"),
        (lambda: verosim.plot_path(PATH, scoring="f1"), "has no score 'f1'"),
        (lambda: verosim.plot_candidates(CV), "found must be a Choice or a Candidates; got"),
        (lambda: verosim.plot_projection(QDA, X, NAMES), "needs a fitted LDA model; got QDA"),
        (lambda: verosim.plot_whitening(NB, X, NAMES), "Whiten.of needs"),
        (
            lambda: verosim.plot_sample(verosim.LogisticRegression().fit(X[:, :2], y), X[:, :2], y),
            "cannot simulate rows",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(VerosimError, match=message):
        call()


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "matplotlib")
    with pytest.raises(VerosimError, match=r"needs matplotlib.*pip install 'verosim\[plot\]'"):
        verosim.plot_confusion(CV)


def test_the_importance_that_is_drawn_is_the_importance_that_is_computed():
    found = verosim.importance(NB, X)
    for ax in (found.plot(), verosim.plot_importance(verosim.explain(NB, X))):
        drawn = [float(line.get_xdata()[0]) for line in ax.lines]
        np.testing.assert_allclose(drawn, [found[name] for name in found.ranking], rtol=1e-12)


def test_the_effect_of_two_classes_is_their_difference():
    found = verosim.effect(NB, "x2", [1.0, 2.0, 4.0, 6.0])
    first, second = NB.classes_[:2].tolist()
    ax = verosim.plot_effect(found, of=first, against=second)
    drawn = np.nanmax([line.get_ydata() for line in ax.lines[:2]], axis=0)
    np.testing.assert_allclose(drawn, found.difference(first, second))
    each = found.plot()
    total = np.sum([line.get_ydata() for line in each.lines[:3]], axis=0)
    np.testing.assert_allclose(total, 0, atol=1e-9)


def test_effects_that_cannot_be_drawn_are_refused():
    found = verosim.effect(NB, "x2")
    for draw, message in (
        (lambda: verosim.plot_effect(found, of=NB.classes_[0]), "must be named"),
        (lambda: verosim.plot_effect(found, "x1"), "column 'x2'; got 'x1'"),
        (lambda: verosim.plot_effect(WORDS_EXPLAINED, WORDS_EXPLAINED.names[0]), "has texts"),
        (lambda: verosim.plot_effect(MIXED_EXPLAINED, "count", of="yes"), "result of effect"),
    ):
        with pytest.raises(verosim.VerosimError, match=message):
            draw()


def test_a_histogram_with_a_very_high_bin_is_drawn_by_shares():
    rows = np.concatenate([np.zeros(90), np.linspace(1, 1000, 30)])
    model = verosim.HistogramNB().fit(rows[:, None], np.arange(120) % 2)
    assert verosim.plot_densities(model, "x0").get_xlabel() == "share in the class"


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("figure_too", [False, True])
def test_transparent_axes_take_the_background_behind_them(style, figure_too):
    with plt.style.context(style):
        expected = plt.rcParams["figure.facecolor"]
        _, ax = plt.subplots(facecolor="none" if figure_too else None)
        ax.set_facecolor("none")
        verosim.plot_confusion(np.array([[1, 0], [0, 1]]), ax=ax)
        np.testing.assert_allclose(ax.images[0].get_array()[0, 1], to_rgb(expected))


# Notebooks -----------------------------------------------------------------------------------


def test_html_is_escaped_and_has_no_fixed_colours():
    evil = "<script>alert(1)</script>"
    table = {evil: [1.0, 2.0, 3.0, 5.0] * 5, "hue": [evil, "b"] * 10, "kind": [evil, "n"] * 10}
    model = verosim.NaiveBayes().fit(table, "kind")
    wine = load_wine(return_X_y=True)
    comparison = verosim.compare(
        {evil: verosim.LDA(), "b": verosim.QDA()}, *wine, sizes=[60, 90], repeats=2
    )
    found = [
        verosim.look(table),
        verosim.cross_validate(model, table, "kind", cv=2),
        verosim.diagnose(model),
        comparison,
        verosim.explain(model, table),
        CHOICE.table,
        model.learned(),
        model.learned("hue"),
        verosim.importance(model),
        verosim.effect(model, "hue"),
        verosim.scorecard(model),
        verosim.what_if(model, {evil: 1.0, "hue": evil}, {"hue": "b"}),
        verosim.counterfactual(model, {evil: 1.0, "hue": evil}, change="hue"),
    ]
    for one in found:
        html = one._repr_html_()
        assert "<table" in html
        assert "<script" not in html
        assert "color:#" not in html
        assert "background:#" not in html
    fitted = model._repr_html_()
    assert "NaiveBayes: 2 classes, 2 columns" in fitted
    assert "alert(1)" in fitted
    assert evil not in fitted
    assert "2 classes" not in verosim.NaiveBayes()._repr_html_()


def test_the_gallery_draws_each_public_plot(tmp_path):
    """Each picture of the page is drawn by the script, and each plot has a picture."""
    from examples import gallery

    page = (Path(gallery.__file__).parents[1] / "docs" / "gallery.md").read_text()
    named = {f"gallery_{draw.__name__}.png" for draw in gallery.PLOTS}
    assert set(re.findall(r"gallery_\w+\.png", page)) == named
    for name in verosim.__all__:
        if name.startswith("plot_"):
            assert f"verosim.{name})" in page, f"{name} has no picture"
    (path,) = gallery.main(["--only", "nomogram", "--out", str(tmp_path)])
    assert path.stat().st_size > 10_000


def test_many_classes_have_smaller_ellipses():
    """Ten ellipses that hold 95% of their classes would hide each other."""
    X10, y10 = load_digits(return_X_y=True)
    X10 = X10[:, [20, 28, 36]] + np.random.default_rng(0).normal(size=(len(X10), 3))
    model = verosim.LDA().fit(X10, y10)
    ax = verosim.plot_boundary(model, X10, y10, columns=(0, 1), points=False, regions=False)
    expected = model.ellipse(0, ("x0", "x1"), level=0.5).points(200)
    outlines = [line.get_xydata()[:-1] for line in ax.lines]  # the last point closes the curve
    outlines = [one for one in outlines if len(one) == len(expected)]
    assert len(outlines) == 10
    assert any(np.allclose(one, expected) for one in outlines)
