"""The settings of the search for a draw's maximum."""

from dataclasses import dataclass

from thomax.checks import FLAG, SHARE, check, whole
from thomax.spelling import spell_checked


@spell_checked
@dataclass(frozen=True)
class Search:
    """How hard to look for a draw's maximum.

    `candidates` random points are screened, the best refined: `restarts` in all for the draws of
    a batch, at least `restarts_per_draw` each, for `iterations` of BFGS in each of `rounds`. In
    finite spaces up to `max_enumerated` points nothing is missed because a maximum is taken:
    then all points are scored. `local_fraction` is the share of candidates near good points.
    `rounding` treats
    everything as continuous and rounds at the end.
    """

    candidates: int = 2000
    local_fraction: float = 0.5
    restarts: int = 12
    restarts_per_draw: int = 4
    iterations: int = 25
    rounds: int = 3
    max_enumerated: int = 100_000
    rounding: bool = False

    def __post_init__(self) -> None:
        counts = ("candidates", "restarts", "restarts_per_draw", "rounds")
        check(
            self, **dict.fromkeys(counts, whole(1)), iterations=whole(0), max_enumerated=whole(0),
            local_fraction=SHARE, rounding=FLAG,
        )  # fmt: skip

    @classmethod
    def paper(cls) -> "Search":
        """Return the paper's search: 10,000 random points, 100 restarts, rounding.

        More than 30 iterations find nothing better: draws end at faces of the cube.
        """
        return cls(
            candidates=10_000,
            local_fraction=0.0,
            restarts_per_draw=100,
            iterations=30,
            rounds=1,
            rounding=True,
        )
