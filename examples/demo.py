"""The main functions on a small table: fit, validate, predict, simulate, merge and forget.

python examples/demo.py
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import verosim


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m\n" + "─" * len(text))


def main() -> None:
    wine = load_wine()
    X, names = wine.data, [name.split("/")[0] for name in wine.feature_names]
    y = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
    print(
        f"verosim {verosim.__version__}: {len(y)} wines, {X.shape[1]} measurements, three grapes."
    )
    print("verosim reads the data once. Everything else is computed from sums.")

    title("1. Fit: one pass over the rows")
    print(f"{'model':<12} {'free parameters':>16} {'training errors':>19} {'10-fold errors':>15}")
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    for model in (verosim.NaiveLDA(), verosim.GaussianNB(), verosim.LDA(), verosim.QDA(),
                  verosim.RDA(pooling=0.3, shrinkage=0.0)):  # fmt: skip
        model.fit(X, y)
        # The model without a fold comes from the sums of the other folds, without a new fit.
        held_out = int((verosim.cross_validate(model, X, y, cv=folds).predictions != y).sum())
        errors = int((model.predict(X) != y).sum())
        name = type(model).__name__
        print(f"{name:<12} {model.n_parameters_:>16} {errors:>19} {held_out:>15}")

    lda = verosim.LDA().fit(X, y)
    peer = cross_val_predict(LinearDiscriminantAnalysis(), X, y, cv=folds)
    apart = np.abs(lda.predict_proba(X) - LinearDiscriminantAnalysis().fit(X, y).predict_proba(X))
    print(
        f"\nCheck: scikit-learn's LDA, fitted again for each fold, makes {int((peer != y).sum())} "
        f"errors. Its posteriors differ from those of verosim by at most {apart.max():.0e}."
    )

    title("2. Predict probabilities: δ_k = log π_k + log p(x | k), posterior = softmax δ")
    row = X[[61]]
    joint, proba = lda.log_joint(row)[0], lda.predict_proba(row)[0]
    for label, delta, p in zip(lda.classes_, joint, proba, strict=True):
        print(f"  {label:<11} δ = {delta:9.3f}   p = {p:8.6f}   {'█' * round(40 * p)}")
    print(f"  true class: {y[61]}; log p(x) = {lda.log_density(row)[0]:.3f}")
    small = verosim.LDA().fit(X[:, [0, 9]], y)
    line = small.boundary("Barbera", "Barolo")
    print(f"  With x0 = {names[0]} and x1 = {names[9]}, the boundary of Barbera and Barolo is")
    print(f"    {line}")

    title("3. Simulate: k ~ Cat(π), then x ~ p(x | k)")
    drawn, labels = lda.sample(4, random_state=7)
    print("  " + " ".join(f"{name[:10]:>10}" for name in names[:5]) + "  …")
    for values, label in zip(drawn, labels, strict=True):
        print("  " + " ".join(f"{v:10.2f}" for v in values[:5]) + f"  …  {label}")

    title("4. Merge: two models of different rows add up to one model")
    left, right = verosim.LDA().fit(X[::2], y[::2]), verosim.LDA().fit(X[1::2], y[1::2])
    merged = left + right
    apart = np.abs(merged.predict_proba(X) - lda.predict_proba(X)).max()
    print(f"  {left.class_count_.sum():.0f} + {right.class_count_.sum():.0f} rows; the posteriors")
    print(f"  differ from a fit on all rows by at most {apart:.0e}")

    title("5. Forget: remove rows from a fitted model")
    gone = slice(100, 140)
    forgotten = merged.forget(X[gone], y[gone])
    kept = np.r_[0:100, 140 : len(y)]
    refit = verosim.LDA().fit(X[kept], y[kept])
    apart = np.abs(forgotten.predict_proba(X) - refit.predict_proba(X)).max()
    print(f"  {forgotten.class_count_.sum():.0f} rows remain; the posteriors differ from a new fit")
    print(f"  on these rows by at most {apart:.0e}")

    title("6. Change settings without the data")
    for setting in ({"covariance": "unbiased"}, {"priors": "uniform"}):
        forgotten.set_params(**setting)
        print(f"  {setting}: {int((forgotten.predict(X) != y).sum())} errors")
    need = verosim.theory.rows_for_priors(0.05, 0.05, n_classes=3)
    print(f"  All three priors within 0.05 with 95 % probability need {need:,} rows.")

    title("7. Choose settings on held-out rows: two passes for the whole grid")
    found = verosim.path(verosim.QDA(), X, y, "shrinkage", [0, 1e-5, 1e-3, 0.1])
    print("  " + str(found).replace("\n", "\n  "))
    alone = verosim.cross_validate(verosim.QDA(), X, y, cv="loo").mean("accuracy")
    print(f"  Leave-one-out accuracy, in closed form: {alone:.1%}")

    title("8. The discriminative twin: the same form, fitted directly to the labels")
    print(verosim.generative_gap(verosim.NaiveLDA(), X, y))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    models = {"naive Bayes": verosim.NaiveLDA(), "logistic": verosim.LogisticRegression()}
    print(verosim.compare(models, Z, y, sizes=[6, 12, 50, 130], repeats=40))

    title("9. A table from a file: numbers, categories, dates, text and missing values")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tickets.csv"
        write_tickets(path)
        print("  " + "\n  ".join(path.read_text().splitlines()[:4]))
        tickets = verosim.NaiveBayes().fit(path, "team")
        print("\n  " + str(tickets.schema_).replace("\n", "\n  "))
        print(f"\n  accuracy on the training rows: {tickets.score(path, 'team'):.1%}")
    question = {"message": ["my card was charged twice"], "plan": [None]}
    for label, p in zip(tickets.classes_, tickets.predict_proba(question)[0], strict=True):
        print(f"  {label:<9} p = {p:8.6f}   {'█' * round(40 * p)}")


def write_tickets(path: Path) -> None:
    """Write a file of support tickets, such as a help desk would export."""
    rng = np.random.default_rng(1)
    words = {
        "billing": ["card", "charged", "refund", "invoice", "twice", "price", "month"],
        "technical": ["error", "crash", "login", "screen", "update", "slow", "broken"],
        "sales": ["demo", "quote", "seats", "upgrade", "discount", "team", "trial"],
    }
    lines = ["ticket,opened,plan,seats,message,team"]
    for i in range(400):
        team = rng.choice(list(words))
        plan = "" if rng.random() < 0.15 else rng.choice(["free", "pro", "firm"])
        seats = "" if rng.random() < 0.1 else int(rng.lognormal(1 + (team == "sales"), 1)) + 1
        said = rng.choice([*words[team], *["my", "the", "is", "please", "our"]], 6)
        day = (
            f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d} {rng.integers(0, 24):02d}:15"
        )
        lines.append(f"{i},{day},{plan},{seats},{' '.join(said)},{team}")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("default")
    main()
