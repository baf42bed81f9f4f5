"""What a generative model knows about a row: its class, how sure that is, and how usual the row is.

    python -m examples.densities    draws docs/pictures/densities.png

QDA on two columns of Fisher's irises. Left: p(k | x), the class that Bayes' rule gives. Right:
log p(x), the density of all rows; a classifier of boundaries alone does not have it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import verosim

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "densities.png"
COLOURS = ("#2a7f8e", "#e08e36", "#8a5a9e")
NOVELTY = 0.02  # the share of usual rows that may be rejected
PIXELS = 300


def main(arguments: list[str] | None = None) -> verosim.Reject:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURE)
    out = parser.parse_args(arguments).out
    iris = load_iris()
    X, y = iris.data[:, 2:], iris.target
    model = verosim.QDA().fit(X, y)
    rejecting = verosim.reject(verosim.QDA(), X, y, novelty=NOVELTY)
    draw(out, model, rejecting, X, y, iris.target_names)
    return rejecting


def draw(out, model, rejecting, X, y, names) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import to_rgb

    across, up = np.linspace(0.2, 7.8, PIXELS), np.linspace(-0.4, 3.2, PIXELS)
    grid = np.array(np.meshgrid(across, up)).reshape(2, -1).T  # (PIXELS², 2)
    shape = (PIXELS, PIXELS)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4), sharex=True, sharey=True, layout="constrained"
    )
    # Left: the colour of a point mixes the colours of the classes by their posteriors.
    posterior = model.predict_proba(grid)  # (PIXELS², 3)
    mixed = posterior @ np.array([to_rgb(colour) for colour in COLOURS])
    extent = (across[0], across[-1], up[0], up[-1])
    left.imshow(
        (1 - 0.45 * (1 - mixed)).reshape(*shape, 3), origin="lower", extent=extent, aspect="auto"
    )
    sure = posterior.max(axis=1).reshape(shape)
    left.contour(across, up, sure, levels=[0.9], colors="white", linewidths=1.2)
    left.set_title("p(class | x); white lines: 0.9", fontsize=11)
    # Right: the density, and the line below which rows are rejected.
    density = model.log_density(grid).reshape(shape)
    levels = np.linspace(-14, 1, 16)  # the density at the centre of a class is larger
    right.contourf(across, up, density.clip(-14), levels=levels, cmap="BuGn", extend="max")
    rejected = rejecting.rejected(grid).reshape(shape).astype(float)
    right.contour(across, up, rejected, levels=[0.5], colors="#b03a2e", linewidths=1.6)
    right.set_title("log p(x); outside the red line: none of these", fontsize=11)
    for ax in (left, right):
        for k, colour in enumerate(COLOURS):
            rows = X[y == k]
            ax.scatter(*rows.T, s=16, color=colour, edgecolor="white", lw=0.5, label=names[k])
        ax.set_xlabel("petal length (cm)")
        ax.set_xlim(across[0], across[-1])
        ax.set_ylim(up[0], up[-1])
    left.set_ylabel("petal width (cm)")
    left.legend(loc="upper left", fontsize=9, framealpha=0.9)
    out.parent.mkdir(exist_ok=True)
    figure.savefig(out, dpi=100, pil_kwargs={"optimize": True})
    plt.close(figure)


if __name__ == "__main__":
    main()
