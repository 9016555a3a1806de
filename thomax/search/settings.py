"""The settings of the search for a draw's maximum."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from thomax.support.checks import FLAG, SHARE, check, one_of, whole
from thomax.support.spelling import spell_checked

Scalarisation: TypeAlias = Literal["chebyshev", "hypervolume"]


@spell_checked
@dataclass(frozen=True)
class Search:
    """Settings of the search for the maximum of each posterior draw.

    Args:
        candidates: How many points are evaluated first; the best of them are improved.
        local_fraction: The share of the candidates that lie near good points, from 0 to 1.
        restarts: How many candidates are improved in all, shared by the draws of a batch.
        restarts_per_draw: How many candidates are improved for each draw at least.
        iterations: How many iterations of L-BFGS improve the continuous parameters each time.
        rounds: How often continuous and discrete parameters are improved in turns.
        max_enumerated: Finite spaces of up to so many points are scored whole: at once where that
            is fast, else where the best point that was found for a draw is taken.
        rounding: Whether to treat all parameters as continuous, and round at the end.
        random_starts: Whether to improve random candidates, whatever their scores.
        trust: How far from evaluated points numbers are searched at first, to either side, as a
            share of their ranges: until there are three values for each parameter, at most 30.
            None searches the whole space from the start.
        scalarisation: How the draws of several objectives become one score: by a random augmented
            "chebyshev" weighting of each draw, or by the "hypervolume" that it adds to the front.

    Examples:
        >>> Search(candidates=500, restarts=4).iterations
        25
    """

    candidates: int = 2000
    local_fraction: float = 0.5
    restarts: int = 12
    restarts_per_draw: int = 4
    iterations: int = 25
    rounds: int = 3
    max_enumerated: int = 100_000
    rounding: bool = False
    random_starts: bool = False
    trust: float | None = 0.2
    scalarisation: Scalarisation = "chebyshev"

    def __post_init__(self) -> None:
        counts = ("candidates", "restarts", "restarts_per_draw", "rounds")
        check(
            self, **dict.fromkeys(counts, whole(1)), iterations=whole(0), max_enumerated=whole(0),
            local_fraction=SHARE, trust=SHARE.or_none(), rounding=FLAG, random_starts=FLAG,
            scalarisation=one_of("chebyshev", "hypervolume"),
        )  # fmt: skip

    @classmethod
    def paper(cls) -> "Search":
        """Return the paper's search: 10,000 random points, then L-BFGS from 100 random ones.

        Discrete parameters are treated as continuous and rounded in the end; finite spaces that
        are not too large are scored whole.
        """
        return cls(
            candidates=10_000,
            local_fraction=0.0,
            restarts_per_draw=100,
            iterations=30,  # more find nothing better: draws end at faces of the cube
            rounds=1,
            rounding=True,
            random_starts=True,
            trust=None,
        )

    @classmethod
    def released(cls) -> "Search":
        """Return what the authors' released code comes to: the best of 10,000 random points.

        It climbs too, with differences of float32 numbers that are too close to differ, so that
        seven of eight proposals are random points as they were drawn.
        """
        return replace(cls.paper(), restarts=1, restarts_per_draw=1, iterations=0)
