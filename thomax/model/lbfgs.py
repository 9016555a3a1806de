"""Limited-memory BFGS, vectorised over many independent problems of the same size.

One routine serves both uses: polishing B trained networks at once (p variables each,
preconditioned by the Gauss-Newton model), and climbing B posterior draws from many starts (d
variables, in a box). It is NumPy around one batched function call an iteration: nothing of it is
ever compiled.

Notation (Nocedal and Wright 2006, section 7.2; leading axes are the independent problems):
    s, y   differences of points and of gradients          (..., p)
    g      gradient                                        (..., p)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ValueAndGradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
InverseHessian = Callable[[np.ndarray], np.ndarray]
Model = Callable[[np.ndarray, np.ndarray], tuple[InverseHessian, np.ndarray]]
_SUFFICIENT = 1e-4  # Armijo's constant
_SHRINK = 0.3


@dataclass(frozen=True)
class Minimum:
    """Where the minimisation ended, for each problem.

    Args:
        x: The best points found, (..., p).
        value: The values of the functions there, (...).
        gradient: The gradients of the functions there, (..., p).
        iterations: How many iterations it took, the same for all.
    """

    x: np.ndarray
    value: np.ndarray
    gradient: np.ndarray
    iterations: int


def minimise(
    function: ValueAndGradient,
    x: np.ndarray,
    *,
    iterations: int,
    tolerance: np.ndarray | float = 0.0,
    memory: int = 8,
    backtracks: int = 4,
    model: Model | None = None,
    renewal: int = 5,
    lower: np.ndarray | float = -np.inf,
    upper: np.ndarray | float = np.inf,
) -> Minimum:
    """Minimise many functions at once, each within the box [lower, upper].

    A problem stops when its projected gradient's norm is below `tolerance`, or when no step
    improves it; its value never increases.

    Args:
        function: Returns values (...) and gradients (..., p) at points (..., p).
        x: The points to start from, (..., p).
        iterations: The most iterations.
        tolerance: The norm of the projected gradient at which a problem is solved.
        memory: The number of steps that the approximate Hessian is made from.
        backtracks: The number of step lengths tried in an iteration.
        model: Models the functions around points with known values: returns what applies an
            approximate inverse Hessian to each row, and which problems are solved; None takes a
            multiple of the identity.
        renewal: The number of iterations after which the model is made anew.
        lower: The least values of the variables.
        upper: The greatest values of the variables.
    """
    unbounded = bool(np.all(np.isneginf(lower)) and np.all(np.isposinf(upper)))
    x = np.clip(x, lower, upper)
    value, g = function(x)
    pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    done = np.zeros(value.shape, bool)
    resting = np.zeros(value.shape, bool)
    precondition = None
    used = 0
    for used in range(1, iterations + 1):
        if model is not None and (used - 1) % renewal == 0:
            precondition, done = model(x, value)
            resting = done
        free = np.array(True) if unbounded else ~_blocked(x, g, lower, upper)
        projected = g if unbounded else g * free
        done = done | (np.sqrt(_dot(projected, g)) <= tolerance)
        if done.all():
            used -= 1
            break
        resting = resting | done
        if resting.all():
            continue  # to the next model
        direction = _direction(projected, pairs, precondition)
        direction = direction if unbounded else direction * free
        new_x, new_value, new_g = _line_search(
            function, x, value, g, direction, resting, (lower, upper), backtracks
        )
        improved = new_value < value
        # A problem that found nothing better loses its memory and tries once more without;
        # if it had none, it waits for another model, or is finished.
        remembers = np.any([rho > 0 for _, _, rho in pairs], axis=0)
        resting = resting | (~improved & ~remembers)
        done = resting if model is None else done
        s, y = new_x - x, new_g - g
        pairs = _remember(pairs, s, y, improved, memory)
        x, value, g = new_x, new_value, new_g
    return Minimum(x, value, g, used)


def _dot(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.einsum("...i,...i->...", u, v)


def _blocked(
    x: np.ndarray, g: np.ndarray, lower: np.ndarray | float, upper: np.ndarray | float
) -> np.ndarray:
    """Mark variables on a face of the box whose descent would leave it."""
    return ((x <= lower) & (g > 0)) | ((x >= upper) & (g < 0))


def _remember(
    pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    s: np.ndarray,
    y: np.ndarray,
    improved: np.ndarray,
    memory: int,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Append a pair; it weighs 0 where the curvature is not positive or the problem is stuck."""
    curvature = _dot(s, y)
    sound = curvature > 1e-10 * np.sqrt(_dot(s, s) * _dot(y, y))
    rho = np.where(sound, 1 / np.where(sound, curvature, 1), 0).astype(s.dtype)
    kept = [(a, b, np.where(improved, c, 0).astype(s.dtype)) for a, b, c in pairs]
    return [*kept, (s, y, rho)][-memory:]


def _direction(
    g: np.ndarray,
    pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    precondition: InverseHessian | None,
) -> np.ndarray:
    """Return minus the approximate inverse Hessian times g, by the two-loop recursion."""
    q = g.copy()
    alphas = []
    for s, y, rho in reversed(pairs):
        alpha = rho * _dot(s, q)
        q -= alpha[..., None] * y
        alphas.append(alpha)
    q = _scaled(q, pairs) if precondition is None else precondition(q)
    for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
        q += (alpha - rho * _dot(y, q))[..., None] * s
    # Rounding may spoil the descent property: then follow the gradient.
    descent = _dot(q, g) > 0
    return -np.where(descent[..., None], q, g)


def _scaled(q: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Apply s.y / y.y, the usual multiple of the identity; a cautious step without memory."""
    cautious = 0.1 / np.maximum(np.sqrt(_dot(q, q)), 1e-12)
    if not pairs:
        return np.asarray(q * cautious[..., None].astype(q.dtype))
    _, y, rho = pairs[-1]
    square = _dot(y, y)
    sound = (rho > 0) & (square > 0)
    gamma = np.where(sound, 1 / np.where(sound, rho * square, 1), cautious)
    return np.asarray(q * gamma[..., None].astype(q.dtype))


def _line_search(
    function: ValueAndGradient,
    x: np.ndarray,
    value: np.ndarray,
    g: np.ndarray,
    direction: np.ndarray,
    resting: np.ndarray,
    box: tuple[np.ndarray | float, np.ndarray | float],
    backtracks: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shrink the steps of the problems that do not yet descend, all in common calls."""
    step = np.where(resting, 0, 1).astype(x.dtype)
    best_x, best_value, best_g = x, value, g
    waiting = ~resting
    for _ in range(backtracks):
        trial = np.clip(x + step[..., None] * direction, *box)
        trial_value, trial_g = function(trial)
        enough = value + _SUFFICIENT * np.minimum(_dot(trial - x, g), 0)
        accepted = waiting & (trial_value <= enough) & (trial_value < value)
        pick = accepted[..., None]
        best_x, best_g = np.where(pick, trial, best_x), np.where(pick, trial_g, best_g)
        best_value = np.where(accepted, trial_value, best_value)
        waiting = waiting & ~accepted
        if not waiting.any():
            break
        step = np.where(waiting, step * _SHRINK, step).astype(x.dtype)
    return best_x, best_value, best_g
