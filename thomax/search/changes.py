"""Improve points of spaces with very many discrete changes: those that gradients promise first.

Trying every level of every discrete parameter costs as many evaluations as there are levels. Of a
smooth function the gradient tells at once, to first order, what each change would bring; the best
of these are then evaluated, one alone and several together, and only what is better is kept.

Notation:
    B, R     draws, and starts for each draw
    x        encoded points of the cube [-1, 1]^d     (B, R, d)
    gain     what setting a column promises           (B, R, d)
"""

import numpy as np

from thomax.model.evaluation import Evaluator
from thomax.space.space import Space

MOST_CHANGES = 600  # levels of all discrete parameters that are tried one after the other
_ITERATIONS = 40
_WORTH = 1e-3  # in units of the values' standard deviation: less is not worth another gradient
_ALONE = 6  # single changes that are evaluated each time
_ALONE_LATE = 48  # when these few bring nothing
_STEPS = (1, 3, 9, 10**6)  # levels that a number moves, in turns; the last to its end


def has_many_changes(space: Space) -> bool:
    """Return whether a space has too many discrete changes to try them one after the other.

    Args:
        space: Where to search.
    """
    return sum(_changes(block.levels, block.columns) for block in space.blocks) > MOST_CHANGES


def is_choice(columns: slice) -> bool:
    """Return whether these are the columns of a choice, which has one for each of its levels.

    Args:
        columns: The columns of a parameter.
    """
    return bool(columns.stop - columns.start > 1)


def _changes(levels: np.ndarray | None, columns: slice) -> int:
    if is_choice(columns):
        return int(columns.stop - columns.start)
    return 0 if levels is None else len(levels)


def promised_changes(score: Evaluator, space: Space, x: np.ndarray) -> np.ndarray:
    """Change discrete parameters of each point, those of largest promise, while that pays.

    Args:
        score: A batch of functions.
        space: Where to search.
        x: Points of the space (B, R, d).
    """
    moves = _Moves(space)
    values = score.own_values(x.astype(np.float32))
    failures = 0
    for iteration in range(_ITERATIONS):
        before = values
        gradient = score.own_gradients(x.astype(np.float32))[1]
        target, gain = moves.promise(x, gradient, _STEPS[iteration % len(_STEPS)])
        alone, together = moves.alone(gain, _ALONE), moves.together(gain)
        x, values, _ = _best(score, moves, x, values, target, [*alone, *together])
        if (values < before + _WORTH).all():  # a closer look, at more of them one by one
            alone = moves.alone(gain, _ALONE_LATE)
            x_best, values_best, scores = _best(score, moves, x, values, target, alone)
            real = np.full_like(gain, -np.inf)  # what they bring, in place of what they promise
            for k, mask in enumerate(alone):
                real[mask] = (scores[..., k] - values).reshape(-1)
            several = moves.together(real)
            if several:
                x_best, values_best, _ = _best(
                    score, moves, x, values_best, target, several, x_best
                )
            x, values = x_best, values_best
        failures = failures + 1 if (values < before + _WORTH).all() else 0
        if failures >= moves.kinds:
            break
    return x


def _best(
    score: Evaluator,
    moves: "_Moves",
    x: np.ndarray,
    values: np.ndarray,
    target: np.ndarray,
    masks: list[np.ndarray],
    best_so_far: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the best of x and its changes, its values, and the values of all changes."""
    options = moves.options(x, target, masks)
    flat = options.reshape(len(x), -1, x.shape[-1])
    scores = score.own_values(flat.astype(np.float32))
    scores[~moves.space.satisfies(flat.reshape(-1, x.shape[-1])).reshape(scores.shape)] = -np.inf
    scores = scores.reshape(options.shape[:-1])
    best = scores.argmax(axis=-1)
    top = np.take_along_axis(scores, best[..., None], -1)[..., 0]
    picked = np.take_along_axis(options, best[..., None, None], -2)[..., 0, :]
    x = x if best_so_far is None else best_so_far
    better = top > values
    return np.where(better[..., None], picked, x), np.where(better, top, values), scores


class _Moves:
    """The changes of a space's discrete parameters, for those of the same levels at once."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._has_conditions = any(p.when for p in space.parameters.values())
        numbers: dict[int, tuple[np.ndarray, list[int]]] = {}
        choices: dict[int, list[np.ndarray]] = {}
        for block in space.blocks:
            columns = np.arange(block.columns.start, block.columns.stop)
            if is_choice(block.columns):
                choices.setdefault(len(columns), []).append(columns)
            elif block.levels is not None:
                places = block.levels[:, 0]
                numbers.setdefault(id(block.levels), (places, []))[1].append(columns[0])
        self._numbers = [(places, np.array(columns)) for places, columns in numbers.values()]
        self._choices = [np.array(columns) for columns in choices.values()]  # (parameters, levels)
        # In how many ways numbers move, before nothing is left to try.
        is_simple = all(len(places) <= 2 for places, _ in self._numbers)
        self.kinds = 1 if is_simple else len(_STEPS)

    def options(self, x: np.ndarray, target: np.ndarray, masks: list[np.ndarray]) -> np.ndarray:
        """Return x with the marked columns at their targets, for each mask: (B, R, K, d)."""
        found = np.stack([self._changed(x, target, mask) for mask in masks], axis=-2)
        if self._has_conditions:
            return self.space.snap(found.reshape(-1, x.shape[-1])).reshape(found.shape)
        return found

    @staticmethod
    def alone(gain: np.ndarray, count: int) -> list[np.ndarray]:
        """Mark each of the columns that promise most."""
        columns = np.arange(gain.shape[-1])
        few = np.argpartition(-gain, min(count, len(columns) - 1), axis=-1)[..., :count]
        return [few[..., k, None] == columns for k in range(few.shape[-1])]

    def promise(
        self, x: np.ndarray, gradient: np.ndarray, step: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return where each column would go, and what that promises."""
        target, gain = np.ones_like(x), np.full_like(x, -np.inf)
        for places, columns in self._numbers:
            here, slope = x[..., columns], gradient[..., columns]
            level = np.searchsorted(places, here - 1e-9) + np.sign(slope).astype(int) * step
            there = places[np.clip(level, 0, len(places) - 1)]
            target[..., columns] = there
            gain[..., columns] = np.where(there == here, -np.inf, slope * (there - here))
        for columns in self._choices:
            here, slope = x[..., columns], gradient[..., columns]
            change = slope - (here * slope).sum(axis=-1, keepdims=True)
            gain[..., columns] = np.where(here == 1, -np.inf, change)
        return target, gain

    def together(self, gain: np.ndarray) -> list[np.ndarray]:
        """Mark the best changes of the 2, 4, 8, ... most promising parameters, and of all."""
        best = gain.copy()
        for columns in self._choices:
            of_each = gain[..., columns]
            is_best = of_each.argmax(axis=-1)[..., None] == np.arange(columns.shape[1])
            best[..., columns] = np.where(is_best, of_each, -np.inf)
        ordered, most = np.sort(best, axis=-1)[..., ::-1], int((best > 0).sum(axis=-1).max())
        counts = [2**k for k in range(1, most.bit_length())]
        least = [ordered[..., count - 1, None] for count in counts]
        return [(best >= edge) & (best > 0) for edge in [*least, np.zeros(1)]] if counts else []

    def _changed(self, x: np.ndarray, target: np.ndarray, mask: np.ndarray) -> np.ndarray:
        found = np.where(mask, target, x)
        for columns in self._choices:
            chosen = mask[..., columns]
            is_moved = chosen.any(axis=-1, keepdims=True)
            found[..., columns] = np.where(is_moved, chosen, x[..., columns])
        return found
