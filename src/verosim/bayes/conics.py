"""The zero set of a quadratic function of two columns, as exact pieces of a conic in a box.

    q(x) = xᵀA x + bᵀx + c = 0,   x = p(t)

Each piece has a closed parametric form p(t): cos and sin for an ellipse, cosh and sinh for a branch
of a hyperbola, t and t² for a parabola, t for a line. The ends of the pieces are where p(t) crosses
an edge of the box, which is a linear or quadratic equation.
Reference: Korn & Korn (2000), Mathematical Handbook for Scientists and Engineers, §2.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from verosim.arguments import checked
from verosim.errors import VerosimError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ConicKind: TypeAlias = Literal[
    "ellipse", "hyperbola", "parabola", "line", "two lines", "point", "empty", "plane"
]

# In a box of side 2, an eigenvalue below this share of the largest coefficient changes the curve
# by less than a billionth. Newton's steps remove this difference.
FLAT_IN_BOX = 1e-9
NEWTON_STEPS = 4

_BASES: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "ellipse": lambda t: (np.cos(t), np.sin(t)),
    "hyperbola": lambda t: (np.cosh(t), np.sinh(t)),
    "parabola": lambda t: (t, t * t),
    "line": lambda t: (t, np.zeros_like(t)),
}


@dataclass(frozen=True, eq=False)
class ConicPiece:
    """A connected piece of a conic inside a box.

        p(t) = origin + f(t) first + g(t) second,   start ≤ t ≤ stop

    where (f, g) are (cos t, sin t) for an ellipse, (cosh t, sinh t) for a branch of a hyperbola,
    (t, t²) for a parabola and (t, 0) for a line.

    Attributes
    ----------
    kind : {"ellipse", "hyperbola", "parabola", "line"}
        The kind of curve.
    origin : ndarray of shape (2,)
        The centre of an ellipse or a hyperbola, the vertex of a parabola, a point of a line.
    first : ndarray of shape (2,)
        The vector that is multiplied by f(t).
    second : ndarray of shape (2,)
        The vector that is multiplied by g(t). It is zero for a line.
    start : float
        The smallest t.
    stop : float
        The largest t.
    function : callable
        The function q that is zero on the curve.
    closed : bool
        Whether the piece is a whole ellipse, so that its ends are the same point.

    See Also
    --------
    Conic : All pieces of a curve.

    References
    ----------
    Korn & Korn (2000), Mathematical Handbook for Scientists and Engineers, §2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import Quadratic
    >>> circle = Quadratic(np.eye(2), np.zeros(2), -1.0)
    >>> piece = circle.curve([[-2, 2], [-2, 2]]).pieces[0]
    >>> piece.kind, piece.closed
    ('ellipse', True)
    >>> float(np.abs(circle(piece.points())).max()) < 1e-12
    True
    """

    kind: Literal["ellipse", "hyperbola", "parabola", "line"]
    origin: np.ndarray  # (2,)
    first: np.ndarray  # (2,)
    second: np.ndarray  # (2,)
    start: float
    stop: float
    function: Any  # a Quadratic

    @property
    def closed(self) -> bool:
        return self.kind == "ellipse" and self.stop - self.start > 2 * np.pi - 1e-12

    def points(self, n: int = 200) -> np.ndarray:
        """Compute points of the piece, from one end to the other.

        Parameters
        ----------
        n : int, default=200
            The number of points, at least 2.

        Returns
        -------
        ndarray of shape (n, 2)
            The points. The first and the last point of a closed piece are the same.
        """
        if n < 2:
            raise VerosimError(f"n must be a whole number, at least 2; got {n!r}.")
        f, g = _BASES[self.kind](np.linspace(self.start, self.stop, n))
        points = self.origin + np.outer(f, self.first) + np.outer(g, self.second)
        return _polished(self.function, points)


@dataclass(frozen=True, eq=False)
class Conic:
    """The boundary between two classes in two columns: a conic, as exact pieces inside a box.

        q(x) = xᵀA x + bᵀx + c = 0

    The kind is that of the whole curve. A curve can have no piece if it is outside the box.

    Attributes
    ----------
    kind : {"ellipse", "hyperbola", "parabola", "line", "two lines", "point", "empty", "plane"}
        The kind of curve. "empty" means that q has no zero, and "plane" that q is zero everywhere.
    pieces : tuple of ConicPiece
        The connected pieces inside the box.
    names : tuple of str
        The names of the two columns.

    See Also
    --------
    Quadratic : The function q. Its method `curve` gives this object.

    References
    ----------
    Korn & Korn (2000), Mathematical Handbook for Scientists and Engineers, §2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from verosim.bayes import Quadratic
    >>> hyperbola = Quadratic(np.diag([1.0, -1.0]), np.zeros(2), -1.0)
    >>> found = hyperbola.curve([[-3, 3], [-3, 3]])
    >>> found.kind, len(found.pieces)
    ('hyperbola', 2)
    """

    kind: ConicKind
    pieces: tuple[ConicPiece, ...]
    names: tuple[str, ...] = ()

    @checked
    def points(self, n: int = 200) -> list[np.ndarray]:
        """Compute points of all pieces.

        Parameters
        ----------
        n : int, default=200
            The number of points of each piece, at least 2.

        Returns
        -------
        list of ndarray of shape (n, 2)
            The points of each piece.
        """
        return [piece.points(n) for piece in self.pieces]


def conic(function: Any, box: ArrayLike, names: tuple[str, ...]) -> Conic:
    """The zero set of a Quadratic of two columns inside a box ((low, high), (low, high))."""
    low, high = checked_box(box)
    middle, half = low + (high - low) / 2, (high - low) / 2
    # q in the coordinates u = (x − middle)/half, in which the box is [−1, 1]².
    A = function.A * np.outer(half, half)
    slope = half * function.gradient(middle)
    c = float(function(middle))
    lengths, V = np.linalg.eigh(A)
    beta = V.T @ slope
    order = np.argsort(-np.abs(lengths))  # the larger one first
    lengths, V, beta = lengths[order], V[:, order], beta[order]
    scale = max(np.abs(lengths).max(), np.abs(beta).max(), abs(c))
    if scale == 0:
        return Conic("plane", (), names)
    lengths = np.where(np.abs(lengths) > FLAT_IN_BOX * scale, lengths, 0.0)
    kind, found = _pieces(lengths, beta, c, scale)
    to_x = half[:, None] * V  # w → x − middle
    pieces = [
        ConicPiece(name, middle + to_x @ origin, to_x @ first, to_x @ second, start, stop, function)
        for name, origin, first, second in found
        for start, stop in _inside(name, V @ origin, V @ first, V @ second)
    ]
    return Conic(kind, tuple(pieces), names)


def checked_box(box: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(2,) the lower and (2,) the upper ends of the two intervals of a box."""
    try:
        found = np.asarray(box, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    square = found.shape == (2, 2) and bool(np.isfinite(found).all())
    if not square or not (found[:, 0] < found[:, 1]).all():
        raise VerosimError(
            f"box must be ((low, high), (low, high)) with finite numbers and low < high; got "
            f"{box!r}.",
            "Use box=((0, 10), (-1, 1)).",
        )
    return found[:, 0], found[:, 1]


_Found: TypeAlias = tuple[Any, np.ndarray, np.ndarray, np.ndarray]


def _pieces(
    lengths: np.ndarray, beta: np.ndarray, c: float, scale: float
) -> tuple[ConicKind, Sequence[_Found]]:
    """The kind of λ₁w₁² + λ₂w₂² + βᵀw + c = 0 and its branches, with |λ₁| ≥ |λ₂|.

    A branch is its kind, its origin and its two vectors.
    """
    one, two, zero = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.zeros(2)
    if not lengths[0]:
        steepness = float(np.hypot(*beta))
        if not steepness > FLAT_IN_BOX * scale:
            return "empty", []
        normal = beta / steepness
        return "line", [("line", -c / steepness * normal, np.array([-normal[1], normal[0]]), zero)]
    if not lengths[1]:
        middle = -beta[0] / (2 * lengths[0])
        level = c - beta[0] ** 2 / (4 * lengths[0])  # λ₁(w₁ − middle)² + β₂w₂ + level = 0
        if abs(beta[1]) > FLAT_IN_BOX * scale:
            vertex = middle * one - level / beta[1] * two
            return "parabola", [("parabola", vertex, one, -lengths[0] / beta[1] * two)]
        square = -level / lengths[0]
        if abs(level) <= _rounding(c, level):
            return "line", [("line", middle * one, two, zero)]
        if square < 0:
            return "empty", []
        ends = (middle - np.sqrt(square), middle + np.sqrt(square))
        return "two lines", [("line", end * one, two, zero) for end in ends]
    centre = -beta / (2 * lengths)
    level = c - float((beta**2 / (4 * lengths)).sum())  # λ₁s₁² + λ₂s₂² + level = 0
    same_sign = lengths[0] * lengths[1] > 0
    if abs(level) <= _rounding(c, *(beta**2 / (4 * lengths))):
        if same_sign:
            return "point", []
        ratio = np.sqrt(-lengths[0] / lengths[1])
        return "two lines", [("line", centre, one + s * ratio * two, zero) for s in (-1, 1)]
    squares = -level / lengths
    if same_sign:
        if squares[0] < 0:
            return "empty", []
        half = np.sqrt(squares)
        return "ellipse", [("ellipse", centre, half[0] * one, half[1] * two)]
    half = np.sqrt(np.abs(squares))
    ahead, beside = half[0] * one, half[1] * two
    if squares[0] < 0:
        ahead, beside = beside, ahead
    return "hyperbola", [("hyperbola", centre, sign * ahead, beside) for sign in (-1, 1)]


def _rounding(*terms: float) -> float:
    """The size of the rounding errors of a sum."""
    return 16 * float(np.finfo(np.float64).eps) * sum(abs(term) for term in terms)


def _inside(
    kind: str, origin: np.ndarray, first: np.ndarray, second: np.ndarray
) -> list[tuple[float, float]]:
    """The intervals of t in which the curve is inside [−1, 1]²."""
    crossings = [
        t
        for j in range(2)
        for edge in (-1.0, 1.0)
        for t in _CROSSINGS[kind](first[j], second[j], edge - origin[j])
    ]
    ends = np.unique(crossings)
    if kind == "ellipse":  # once around, from the first crossing to itself
        ends = ends if len(ends) else np.array([-np.pi])
        ends = np.append(ends, ends[0] + 2 * np.pi)
    middles = (ends[:-1] + ends[1:]) / 2
    f, g = _BASES[kind](middles)
    points = origin + np.outer(f, first) + np.outer(g, second)
    kept = (np.abs(points) <= 1).all(axis=1)
    out: list[tuple[float, float]] = []
    for start, stop in zip(ends[:-1][kept].tolist(), ends[1:][kept].tolist(), strict=True):
        if out and out[-1][1] == start:  # the curve touches an edge there
            out[-1] = (out[-1][0], stop)
        else:
            out.append((start, stop))
    if kind == "ellipse" and len(out) > 1 and out[-1][1] - 2 * np.pi == out[0][0]:
        out[0] = (out.pop()[0] - 2 * np.pi, out[0][1])
    return out


# Each function solves a f(t) + b g(t) = c for t.


def _on_ellipse(a: float, b: float, c: float) -> list[float]:
    length = float(np.hypot(a, b))
    if not length > 0 or abs(c) > length:
        return []
    at, turn = float(np.arctan2(b, a)), float(np.arccos(c / length))
    return [float(np.arctan2(np.sin(t), np.cos(t))) for t in (at - turn, at + turn)]


def _on_hyperbola(a: float, b: float, c: float) -> list[float]:
    """a cosh t + b sinh t = c is (a + b)e² − 2c e + (a − b) = 0 with e = exp t."""
    return [float(np.log(e)) for e in _roots(a + b, -2 * c, a - b) if e > 0]


def _on_parabola(a: float, b: float, c: float) -> list[float]:
    return _roots(b, a, -c)


def _on_line(a: float, b: float, c: float) -> list[float]:
    return _roots(0.0, a, -c)


_CROSSINGS: dict[str, Callable[[float, float, float], list[float]]] = {
    "ellipse": _on_ellipse,
    "hyperbola": _on_hyperbola,
    "parabola": _on_parabola,
    "line": _on_line,
}


def _roots(a: float, b: float, c: float) -> list[float]:
    """The real solutions of a t² + b t + c = 0, without cancellation."""
    if a == 0:
        return [] if b == 0 else [-c / b]
    inside = b * b - 4 * a * c
    if inside < 0:
        return []
    larger = -(b + np.copysign(np.sqrt(inside), b)) / 2
    found = [larger / a] if larger == 0 else [larger / a, c / larger]
    return [float(t) for t in found if np.isfinite(t)]


def _polished(function: Any, points: np.ndarray) -> np.ndarray:
    """The points after Newton's steps towards q = 0, where a step makes |q| smaller."""
    value = function(points)
    for _ in range(NEWTON_STEPS):
        slope = function.gradient(points)
        square = (slope**2).sum(axis=1)
        step = slope * (value / np.where(square > 0, square, 1.0))[:, None]
        moved = points - step
        there = function(moved)
        better = np.abs(there) < np.abs(value)
        if not better.any():
            break
        points = np.where(better[:, None], moved, points)
        value = np.where(better, there, value)
    return points
