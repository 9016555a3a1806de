"""Chemistry: measured tables as functions of conditions, and as pools.

aniline5        yield of a C-N coupling by catalyst, base, amount, heat and time
hplc6, colours5 see `benchmarks.tasks.chemistry`
mixtures_pool   2,040 measured mixtures of four parts with one of two polymers: the one that
                decays least
hplc_pool       the 1,007 settings at which peaks were measured
"""

import numpy as np

from benchmarks.tasks.chemistry import colours, hplc, learned_yield, numbers, rows
from benchmarks.tasks.early.pools import pool
from benchmarks.tasks.problem import Params, Problem
from thomax.space.parameters import Categorical, Float
from thomax.space.space import Space


def aniline(seed: int) -> Problem:
    """Return the yield of a coupling of aniline; the seed has no influence."""
    space = Space({
        "catalyst": Categorical(["tBuXPhos", "tBuBrettPhos", "AlPhos"]),
        "base": Categorical(["TEA", "TMG", "BTMG", "DBU"]),
        "equivalents": Float(1, 2.5),
        "temperature": Float(30, 100),
        "seconds": Float(60, 1800, log=True),
    })  # fmt: skip
    measured: list[Params] = [
        {
            "catalyst": c,
            "base": b,
            "equivalents": float(e),
            "temperature": float(t),
            "seconds": float(s),
        }
        for _, c, b, e, t, s, _ in rows("aniline")
    ]
    yields = np.array([float(row[-1]) for row in rows("aniline")])
    return learned_yield("aniline5", space, measured, yields, "Baumgartner's anilines of summit")


def mixtures_pool(seed: int) -> Problem:
    """Return minus the decay of measured mixtures; the seed has no influence."""
    tables = [numbers("mixtures_a"), numbers("mixtures_b")]
    x = np.vstack([np.insert(t[:, :-1], 0, i, axis=1) for i, t in enumerate(tables)])
    y = -np.concatenate([t[:, -1] for t in tables])
    return pool("mixtures_pool", x, y, "photo_pce10 and photo_wf3 of olymp")


def hplc_pool(seed: int) -> Problem:
    """Return the measured areas of peaks; the seed has no influence."""
    table = numbers("hplc")
    return pool("hplc_pool", table[:, :-1], table[:, -1], "hplc of olymp")


REACTIONS = {"aniline5": aniline, "hplc6": hplc, "colours5": colours}
MEASURED_POOLS = {"mixtures_pool": mixtures_pool, "hplc_pool": hplc_pool}
