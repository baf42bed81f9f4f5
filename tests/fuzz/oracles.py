"""Exact log joint probabilities of the models, and how far a correct program may be from them.

Let u = 2⁻⁵³ and let a sum of n terms have the relative rounding error n u. Then

    count      |Δn| ≤ c n u (what was ever added), so log φ has the error Δn/(n + α)
    variance   |Δσ²|/σ² ≤ c n u κ,   κ = (Σ w (x − pivot)² of all rows ever absorbed) / (W σ²)
    distance   t² = (x − μ)²/σ² has the error t² Δσ²/σ² + c n u (t² + √κ |t|)
    full Σ     |ΔΣ_ij| ≤ ε √(Σ_ii Σ_jj), so zᵀΣ⁻¹z has the error ε (Σ_j √Σ_jj |(Σ⁻¹z)_j|)²

with c = 16, or 64 if rows were subtracted. The pivot is at most 10² standard deviations from the
mean, because the program moves it. If ε times the condition is above 10⁻³, the case has no digits
to compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.fuzz.exact import LOG_2PI, ROUNDING, ZERO, Matrix, decimal, inverse, log
from tests.fuzz.lives import Ledger, Row

SLACK = 16.0
NO_DIGITS = 1e-3
MOST_MOVED = 1e4  # (pivot − mean)² / variance up to which the program does not move a pivot
UNKNOWN = Decimal("1e600")  # an error that is larger than any variance
SMALLEST = 1e-9  # LEAST_FREEDOM of the program

Joint = list["Decimal | None"]
Errors = list[float]
Cells = tuple[Any, ...]


@dataclass
class Truth:
    """The rows that are left, by class."""

    classes: list[Any]
    rows: list[list[Row]]
    ever: list[list[Row]]  # also those that were forgotten
    forgot: bool
    chunks: int

    @classmethod
    def of(cls, ledger: Ledger, classes: Sequence[Any]) -> Truth:
        at = {label: k for k, label in enumerate(classes)}
        rows: list[list[Row]] = [[] for _ in classes]
        ever: list[list[Row]] = [[] for _ in classes]
        for row in ledger.rows:
            if row.label not in at:
                assert row.weight == 0  # all its rows were forgotten
                continue
            k = at[row.label]
            ever[k].append(row)
            if row.weight > 0:
                rows[k].append(row)
        return cls(list(classes), rows, ever, ledger.forgot, ledger.chunks)

    @property
    def n(self) -> int:
        return sum(len(part) for part in self.ever) + 2

    @property
    def rounding(self) -> float:
        """The relative rounding error of a sum of positive terms."""
        return SLACK * self.n * ROUNDING * (4 if self.forgot else 1)

    def weight(self, k: int) -> Fraction:
        return sum((row.weight for row in self.rows[k]), Fraction(0))

    def weight_loss(self, k: int) -> float:
        """The relative error of the weight of a class. Forgetting cancels digits of it."""
        left = self.weight(k)
        lost = float(self.absorbed(k) / left) if self.forgot and left else 0.0
        return self.rounding * (1 + lost)

    def absorbed(self, k: int) -> Fraction:
        return sum((row.ever for row in self.ever[k]), Fraction(0))

    def log_priors(self, setting: Any) -> tuple[Joint, Errors]:
        weights = [self.weight(k) for k in range(len(self.rows))]
        mass = weights
        if setting == "uniform":
            mass = [Fraction(len(part) > 0) for part in self.rows]
        elif setting == "laplace":
            mass = [w + 1 if part else w for w, part in zip(weights, self.rows, strict=True)]
        total = sum(mass)
        errors = [self.weight_loss(k) for k in range(len(mass))]
        return [log(m / total) if m else None for m in mass], errors


# Gaussian columns ------------------------------------------------------------------------------


@dataclass
class Column:
    """One column of one class: weight, mean and squares about the mean."""

    weight: Decimal
    mean: Decimal
    squares: Decimal
    peak: Decimal  # Σ w (x − mean)² of all rows ever absorbed, and the distance of the pivot

    def noise(self, variance: Decimal, rounding: float) -> float:
        """The relative rounding error of a variance."""
        return rounding * (1 + ratio(self.peak, self.weight * variance))


def ratio(a: Decimal, b: Decimal) -> float:
    return 0.0 if a == 0 else math.inf if b == 0 else min(float(a / b), 1e300)


def column(rows: Sequence[Row], ever: Sequence[Row], j: int, chunks: int) -> Column | None:
    """The moments of column j; None if no row has a value."""
    cells = [(decimal(row.weight), decimal(row.cells[j])) for row in rows if has(row.cells[j])]
    if not cells:
        return None
    W = sum((w for w, _ in cells), ZERO)
    first = cells[0][1]
    if all(x == first for _, x in cells):
        mean, squares = first, ZERO
    else:
        mean = sum((w * x for w, x in cells), ZERO) / W
        squares = sum((w * (x - mean) ** 2 for w, x in cells), ZERO)
    all_ever = [
        (decimal(row.ever), decimal(row.cells[j]) - mean) for row in ever if has(row.cells[j])
    ]
    peak = sum((w * z * z for w, z in all_ever), ZERO)
    heaviest = max(w for w, _ in all_ever)
    heavy = [z for w, z in all_ever if chunks > 1 or w >= heaviest / 1000]
    far = max(z * z for z in heavy)
    if chunks > 1 and squares > 0:
        far = min(far, Decimal(MOST_MOVED) * squares / W)
    return Column(W, mean, squares, peak + W * far)


def has(cell: Any) -> bool:
    return cell is not None and cell == cell


@dataclass
class GaussianColumns:
    """What all Gaussian models need: the moments of each class and column."""

    truth: Truth
    d: int

    def __post_init__(self) -> None:
        t, C = self.truth, range(len(self.truth.rows))
        self.by_class = [
            [column(t.rows[k], t.ever[k], j, t.chunks) for j in range(self.d)] for k in C
        ]
        everyone = [row for part in t.rows for row in part]
        ever = [row for part in t.ever for row in part]
        self.all = [column(everyone, ever, j, t.chunks) for j in range(self.d)]

    def total(self, j: int) -> Decimal:
        """The variance of a column over all classes."""
        found = self.all[j]
        return ZERO if found is None else found.squares / found.weight

    def place(self, k: int, j: int) -> Column:
        """The moments of a class, or of all classes if the class has no values."""
        found = self.by_class[k][j]
        return found if found is not None else self.everywhere(j)

    def everywhere(self, j: int) -> Column:
        found = self.all[j]
        return found if found is not None else Column(Decimal(1), ZERO, ZERO, ZERO)


def one_row(truth: Truth, k: int, cells: Column) -> tuple[bool, bool]:
    """Whether the values weigh no more than one row of the class, and whether that is unsure.

    Values that differ are of two rows or more.
    """
    rows, weight = len(truth.rows[k]), decimal(truth.weight(k))
    few = rows * cells.weight <= weight * (1 + Decimal(SMALLEST))
    edge = rows > 1 and abs(rows * cells.weight - weight) < weight * Decimal("1e-6")
    known = truth.weight_loss(k) < 1e-10
    unsure = few and rows > 1 and are_same(truth, cells) and cells.squares > 0
    return few and (rows == 1 or cells.squares == 0), unsure or (edge and not known)


def are_same(truth: Truth, cells: Column) -> bool:
    """Whether the values of a column are equal, up to rounding."""
    return cells.squares <= decimal(truth.rounding) * 16 * cells.peak


def equal_rows(truth: Truth, moments: GaussianColumns, k: int) -> tuple[bool, bool]:
    """Whether all rows of a class are equal in the columns that vary, and whether it is unsure."""
    cells = [p for j, p in enumerate(moments.by_class[k]) if p is not None and moments.total(j) > 0]
    equal = all(p.squares == 0 for p in cells)
    return equal, not equal and all(are_same(truth, p) for p in cells)


def near_zero(freedom: Decimal, weight: Decimal) -> bool:
    """Whether rounding decides if there are degrees of freedom."""
    return abs(freedom - Decimal(SMALLEST) * weight) < weight / 1000


def diagonal(truth: Truth, settings: dict[str, Any], d: int, shared: bool) -> Any:
    """Gaussians with one variance per class and column, or one per column."""
    moments = GaussianColumns(truth, d)
    C = len(truth.rows)
    present = [k for k in range(C) if truth.rows[k]]
    lost = settings.get("covariance") == "unbiased"
    floor = decimal(settings.get("floor", 1e-9))
    a = settings.get("shrinkage")
    variance: list[list[Decimal]] = [[ZERO] * d for _ in range(C)]
    weight_loss = [truth.weight_loss(k) for k in range(C)]
    noise = [[0.0] * d for _ in range(C)]
    wrong = [[ZERO] * d for _ in range(C)]  # |Δσ²| before shrinkage and floor
    for j in range(d):
        parts = [p for k in present if (p := moments.by_class[k][j]) is not None]
        everyone = sum((p.weight for p in parts), ZERO)
        squares = sum((p.squares for p in parts), ZERO)
        peaks = sum((q.peak for q in parts), ZERO)
        for k in present:
            p = moments.by_class[k][j]
            if p is None and not shared:
                continue
            edge, free = False, False
            if p is not None and not shared:
                own, freedom, weight, peak = p.squares, p.weight - lost, p.weight, p.peak
                alone, edge = one_row(truth, k, p)
                equal, unsure = equal_rows(truth, moments, k)
                alone, edge = alone or equal, edge or unsure
                free = freedom > Decimal(SMALLEST) * weight and not alone
                edge |= near_zero(freedom, weight)
            if not free:  # the variance within all classes
                own, freedom, weight = squares, everyone - lost * len(parts), everyone
                peak = peaks
                edge |= near_zero(freedom, weight)
                freedom = freedom if freedom > Decimal(SMALLEST) * weight else weight
            v = own / freedom if freedom else ZERO  # no class has a value
            variance[k][j] = v
            scale = max(v, floor * moments.total(j))
            noise[k][j] = weight_loss[k] + truth.rounding * (1 + ratio(peak, weight * scale))
            relative = weight_loss[k] + truth.rounding
            if lost or edge:  # W − 1 cancels
                cancels = math.inf if edge else truth.rounding * ratio(weight, abs(freedom))
                noise[k][j] += cancels
                relative += cancels
            if math.isinf(relative):
                wrong[k][j] = UNKNOWN
            elif weight:
                wrong[k][j] = v * decimal(relative) + decimal(truth.rounding) * peak / weight
    used = [moments.total(j) > 0 for j in range(d)]
    for k in present:
        if a is not None:
            seen = [j for j in range(d) if used[j] and (shared or moments.by_class[k][j])]
            if seen:
                # σ'²_j = (1 − a) σ²_j + a mean(σ²), so |Δσ'²_j| ≤ (1 − a) |Δσ²_j| + a mean |Δσ²|.
                # The floor of column j is applied after that. It hides an error of σ²_j in column
                # j, but not the share a/d of this error in the other columns.
                share, every = decimal(a), Decimal(len(seen))
                mean = sum((variance[k][j] for j in seen), ZERO) / every
                mean_wrong = sum((wrong[k][j] for j in seen), ZERO) / every
                for j in seen:
                    variance[k][j] = (1 - share) * variance[k][j] + share * mean
                    error = (1 - share) * wrong[k][j] + share * mean_wrong
                    scale = max(variance[k][j], floor * moments.total(j))
                    noise[k][j] = truth.rounding + ratio(error, scale)
        for j in range(d):
            total = moments.total(j)
            all_ = moments.everywhere(j)
            total_noise = all_.noise(total, truth.rounding) if total else 0.0
            if moments.by_class[k][j] is None and not shared:
                variance[k][j], noise[k][j] = total, total_noise
            elif variance[k][j] < floor * total:
                variance[k][j] = floor * total
                noise[k][j] += total_noise
            elif variance[k][j] == 0:
                noise[k][j] = math.inf  # floor=0, and one value: the program invents a variance
            if moments.by_class[k][j] is None:
                noise[k][j] += total_noise
            if truth.forgot and total == 0 and ratio(all_.peak, Decimal(1)):
                noise[k][j] = math.inf  # a residue of what was forgotten may remain

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        scores: Joint = []
        errors: Errors = []
        for k in range(C):
            if k not in present:
                scores.append(None)
                errors.append(0.0)
                continue
            score, error = ZERO, 0.0
            for j in range(d):
                p, v, e = moments.place(k, j), variance[k][j], noise[k][j]
                if v == 0:
                    error += e
                    continue
                error += truth.rounding * abs(float(log(v)))
                if not has(cells[j]):
                    continue
                z = decimal(cells[j]) - p.mean
                t = ratio(abs(z), v.sqrt())
                score -= (LOG_2PI + log(v) + z * z / v) / 2
                kappa = math.sqrt(ratio(p.peak, p.weight * v))
                error += math.inf if e > NO_DIGITS else e * (1 + t * t)
                error += truth.rounding * (t * t + kappa * t) + weight_loss[k] * kappa * t
            scores.append(score)
            errors.append(error)
        return scores, errors

    return joint


def full(truth: Truth, settings: dict[str, Any], d: int, pooling: Any) -> Any:
    """Gaussians with full covariances: pooling 0 is QDA, 1 is LDA, a number is RDA."""
    moments = GaussianColumns(truth, d)
    C = len(truth.rows)
    present = [k for k in range(C) if truth.rows[k]]
    lost = int(settings.get("covariance") == "unbiased")
    floor = decimal(settings.get("floor", 0.0))
    gamma = settings.get("shrinkage")
    used = [j for j in range(d) if moments.total(j) > 0]
    lost_column = truth.forgot and any(
        moments.total(j) == 0 and moments.everywhere(j).peak > 0 for j in range(d)
    )
    p = len(used)
    weights = [decimal(truth.weight(k)) for k in range(C)]
    W = sum((weights[k] for k in present), ZERO)
    scatter = [class_scatter(truth.rows[k], moments, k, used) for k in range(C)]
    pooled = [[sum((scatter[k][i][j] for k in present), ZERO) for j in range(p)] for i in range(p)]
    own, every = (
        (Decimal(1), Decimal(p) / W)
        if pooling == "auto"
        else (1 - decimal(pooling), decimal(pooling))
    )
    found: list[tuple[Matrix, list[Decimal], Decimal, float] | None] = [None] * C
    shared: Any = None
    for k in present:
        if pooling == 1 and shared is not None:
            found[k] = shared
            continue
        if pooling == 1:
            S, weight, freedom = pooled, W, W - lost * len(present)
            peaks = [sum((moments.place(q, j).peak for q in present), ZERO) for j in used]
        else:
            S = [
                [own * scatter[k][i][j] + every * pooled[i][j] for j in range(p)] for i in range(p)
            ]
            weight = own * weights[k] + every * W
            freedom = own * max(weights[k] - lost, ZERO) + every * (W - lost * len(present))
            peaks = [
                own * moments.place(k, j).peak
                + every * sum((moments.place(q, j).peak for q in present), ZERO)
                for j in used
            ]
        if freedom <= Decimal("1e-8") * weight:
            continue
        sigma = [[S[i][j] / freedom for j in range(p)] for i in range(p)]
        if gamma is not None and p:
            mean = sum((sigma[i][i] for i in range(p)), ZERO) / p
            g = decimal(gamma)
            sigma = [
                [(1 - g) * sigma[i][j] + (g * mean if i == j else 0) for j in range(p)]
                for i in range(p)
            ]
        for i in range(p):
            sigma[i][i] = max(sigma[i][i], floor * moments.total(used[i]))
        if any(sigma[i][i] == 0 for i in range(p)):
            continue
        solved = inverse(sigma)
        if solved is None:
            continue
        loss = max(truth.weight_loss(q) for q in present)
        noise = loss + truth.rounding * (
            1 + max((ratio(peaks[i], weight * sigma[i][i]) for i in range(p)), default=0.0)
        )
        if lost:
            noise += truth.rounding * ratio(weight, freedom)
        deviations = [sigma[i][i].sqrt() for i in range(p)]
        found[k] = solved[0], deviations, solved[1], noise
        shared = found[k]

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        scores: Joint = []
        errors: Errors = []
        for k in range(C):
            parts = found[k]
            if k not in present:
                scores.append(None)
                errors.append(0.0)
                continue
            if parts is None or lost_column:
                scores.append(ZERO)
                errors.append(math.inf)
                continue
            precision, deviations, determinant, noise = parts
            z = [decimal(cells[j]) - moments.place(k, j).mean for j in used]
            y = [sum((precision[i][j] * z[j] for j in range(p)), ZERO) for i in range(p)]
            square = sum((z[i] * y[i] for i in range(p)), ZERO)
            scores.append(-(p * LOG_2PI + (log(determinant) if p else ZERO) + square) / 2)
            steep = sum(
                float(abs(precision[i][j]) * deviations[i] * deviations[j])
                for i in range(p)
                for j in range(p)
            )
            slope = sum(float(abs(y[i]) * deviations[i]) for i in range(p))
            t = sum(float(abs(z[i]) / deviations[i]) for i in range(p))
            kappa = math.sqrt(
                max((ratio(moments.place(k, j).peak, moments.place(k, j).weight * dev * dev)
                     for j, dev in zip(used, deviations, strict=True)), default=0.0)
            )  # fmt: skip
            size = abs(float(log(determinant))) if p else 0.0
            error = noise * (steep + slope * slope) + truth.rounding * size
            error += slope * (truth.rounding * (t + kappa) * (1 + p) + truth.weight_loss(k) * kappa)
            errors.append(math.inf if noise * steep > NO_DIGITS else error)
        return scores, errors

    return joint


def class_scatter(rows: Sequence[Row], moments: GaussianColumns, k: int, used: list[int]) -> Matrix:
    p = len(used)
    out = [[ZERO] * p for _ in range(p)]
    means = [moments.place(k, j).mean for j in used]
    for row in rows:
        w = decimal(row.weight)
        z = [decimal(row.cells[j]) - m for j, m in zip(used, means, strict=True)]
        for i in range(p):
            for j in range(p):
                out[i][j] += w * z[i] * z[j]
    return out


# Counts ----------------------------------------------------------------------------------------


@dataclass
class Share:
    """A share, exact, and the relative error of a program that adds the counts as doubles."""

    value: Fraction
    error: float


def share(
    truth: Truth, k: int, count: Fraction, ever: Fraction, total: Fraction, alpha: Fraction,
    kinds: int, cancels: Fraction = Fraction(0),
) -> Share:  # fmt: skip
    """(count + α)/(total + α · kinds), where `cancels` is what a difference was computed from."""
    top, bottom = count + alpha, total + alpha * kinds
    if bottom == 0:
        return Share(Fraction(1, max(kinds, 1)), truth.rounding)
    lost = truth.rounding * float(ever + cancels)
    below = lost
    if truth.forgot:
        absorbed = float(truth.absorbed(k))
        lost += 2e-12 * float(ever) + 2e-15 * absorbed
        below += 2e-12 * absorbed
    if top == 0:  # a difference of sums is zero only up to rounding
        residue = truth.rounding * float(cancels) > 1e-13 * float(bottom)
        return Share(Fraction(0), math.inf if residue else 0.0)
    return Share(top / bottom, truth.rounding + lost / float(top) + below / float(bottom))


def weight_of(rows: Sequence[Row], j: int, value: Any, ever: bool = False) -> Fraction:
    return sum(
        ((row.ever if ever else row.weight) for row in rows if row.cells[j] == value), Fraction(0)
    )


def skipping(scores: list[list[tuple[Share, Fraction]]], C: int, present: list[int]) -> Any:
    """log Σ amount · log share; a factor with share 0 in every present class is skipped.

    `scores[i][k]` is the share of factor i in class k, and its exponent.
    """
    joint: Joint = [ZERO] * C
    errors = [0.0] * C
    for factor in scores:
        if all(factor[k][0].value == 0 for k in present):
            continue
        for k in range(C):
            one, amount = factor[k]
            if amount == 0:
                continue
            if one.value == 0:
                joint[k] = None
                errors[k] += 0.0 if one.error == 0 else math.inf
                continue
            level = log(one.value)
            if joint[k] is not None:
                joint[k] += level if amount == 1 else decimal(amount) * level
            errors[k] += float(amount) * (
                math.inf if one.error > NO_DIGITS else one.error + 4 * ROUNDING * abs(float(level))
            )
    return joint, errors


def categorical(
    truth: Truth, settings: dict[str, Any], d: int, kinds: Sequence[int] | None = None
) -> Any:
    """Smoothed shares of the values of each column.

    `kinds` are the numbers of values, if they do not depend on the rows.
    """
    C = len(truth.rows)
    alpha = Fraction(settings.get("alpha", 1.0))
    never = Fraction(settings.get("never", 0.0))
    present = [k for k in range(C) if truth.rows[k]]
    columns = range(d)
    values = {
        j: {row.cells[j] for part in truth.rows for row in part if has(row.cells[j])}
        for j in columns
    }
    totals = {
        (k, j): sum((row.weight for row in truth.rows[k] if has(row.cells[j])), Fraction(0))
        for k in range(C)
        for j in columns
    }
    known: dict[Any, Share] = {}

    def one(k: int, j: int, value: Any) -> Share:
        key = k, j, value
        if key not in known:
            B = len(values[j]) if kinds is None else kinds[j]
            found = share(
                truth, k, weight_of(truth.rows[k], j, value),
                weight_of(truth.ever[k], j, value, ever=True), totals[k, j], alpha, B,
            )  # fmt: skip
            if found.value == 0 and never:
                found = Share(never, truth.rounding)
            known[key] = found
        return known[key]

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        factors = [
            [(one(k, j, cells[j]), Fraction(1)) for k in range(C)] for j in columns if has(cells[j])
        ]
        return skipping(factors, C, present)

    return joint


def bernoulli(truth: Truth, settings: dict[str, Any], d: int) -> Any:
    """Shares of the rows in which a column is above the threshold."""
    C = len(truth.rows)
    alpha, threshold = Fraction(settings.get("alpha", 1.0)), settings.get("binarize", 0.0) or 0.0
    present = [k for k in range(C) if truth.rows[k]]
    known: dict[Any, Share] = {}

    def one(k: int, j: int, there: bool) -> Share:
        key = k, j, there
        if key not in known:
            rows = [row for row in truth.rows[k] if has(row.cells[j])]
            total = sum((row.weight for row in rows), Fraction(0))
            mine = sum(
                (row.weight for row in rows if (row.cells[j] > threshold) == there), Fraction(0)
            )
            ever = truth.absorbed(k)
            known[key] = share(truth, k, mine, ever, total, alpha, 2, cancels=ever)
            few = truth.forgot and known[key].error > 1e-9
            if alpha == 0 and (few or 0 < known[key].value < Fraction(1, 10**11)):
                known[key].error = math.inf  # the program rounds such a difference to zero
        return known[key]

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        factors = [
            [(one(k, j, cells[j] > threshold), Fraction(1)) for k in range(C)]
            for j in range(d)
            if has(cells[j])
        ]
        return skipping(factors, C, present)

    return joint


def amounts(truth: Truth, d: int) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """(C, d) the sums of the amounts that are left, and that were ever absorbed."""
    left = [
        [
            sum((row.weight * Fraction(row.cells[j]) for row in part if has(row.cells[j])),
                Fraction(0))
            for j in range(d)
        ]
        for part in truth.rows
    ]  # fmt: skip
    ever = [
        [
            sum((row.ever * Fraction(row.cells[j]) for row in part if has(row.cells[j])),
                Fraction(0))
            for j in range(d)
        ]
        for part in truth.ever
    ]  # fmt: skip
    return left, ever


def multinomial(truth: Truth, settings: dict[str, Any], d: int) -> Any:
    C = len(truth.rows)
    alpha = Fraction(settings.get("alpha", 1.0))
    present = [k for k in range(C) if truth.rows[k]]
    left, ever = amounts(truth, d)
    shares = [
        [share(truth, k, left[k][j], sum(ever[k]), sum(left[k], Fraction(0)), alpha, d)
         for j in range(d)]
        for k in range(C)
    ]  # fmt: skip

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        factors = [
            [(shares[k][j], Fraction(cells[j])) for k in range(C)]
            for j in range(d)
            if has(cells[j]) and cells[j]
        ]
        return skipping(factors, C, present)

    return joint


def complement(truth: Truth, settings: dict[str, Any], d: int) -> Any:
    """Scores −log of the shares in the other classes."""
    C = len(truth.rows)
    alpha = max(Fraction(settings.get("alpha", 1.0)), Fraction(1e-10))
    left, ever = amounts(truth, d)
    everything = sum((sum(row, Fraction(0)) for row in ever), Fraction(0))
    levels: list[list[Decimal]] = []
    errors: list[list[float]] = []
    for k in range(C):
        rest = [sum((left[q][j] for q in range(C) if q != k), Fraction(0)) for j in range(d)]
        # The program subtracts a class from the sum of all classes.
        found = [
            share(truth, k, rest[j], everything, sum(rest, Fraction(0)), alpha, d, everything)
            for j in range(d)
        ]
        logs = [log(one.value) for one in found]
        wrong = [
            one.error + 4 * ROUNDING * abs(float(v)) for one, v in zip(found, logs, strict=True)
        ]
        if settings.get("norm"):
            total = sum(logs, ZERO)
            scale = abs(float(total)) or 1.0
            wrong = [(e + sum(wrong) * abs(float(v)) / scale) / scale for e, v in
                     zip(wrong, logs, strict=True)]  # fmt: skip
            logs = [v / total if total else v for v in logs]
            logs = [-v for v in logs]
        levels.append([-v for v in logs])
        errors.append(wrong)

    def joint(cells: Cells) -> tuple[Joint, Errors]:
        scores: Joint = []
        wrong = []
        for k in range(C):
            amount = [Fraction(c) if has(c) else Fraction(0) for c in cells]
            scores.append(
                sum((decimal(a) * v for a, v in zip(amount, levels[k], strict=True)), ZERO)
            )
            wrong.append(
                sum(float(a) * (e if e < NO_DIGITS else math.inf)
                    for a, e in zip(amount, errors[k], strict=True) if a)
            )  # fmt: skip
        return scores, wrong

    return joint
