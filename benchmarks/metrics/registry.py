"""The tasks by name: those with several objectives, and those of one objective with limits."""

from functools import lru_cache

from benchmarks.metrics.fronts import analytic, designs
from benchmarks.metrics.learned import MAKERS
from benchmarks.metrics.limited import boxes, machines
from benchmarks.metrics.problem import MetricTask

_MADE = {t.name: t for t in (*analytic(), *designs(), *boxes(), *machines())}
_LEARNED_FRONTS = ("network", "coupling", "suzuki")
FRONTS = (*(n for n, t in _MADE.items() if t.has_front), *_LEARNED_FRONTS)
LIMITED = (
    *(n for n, t in _MADE.items() if not t.has_front),
    *(n for n in MAKERS if n not in _LEARNED_FRONTS),
)
MODES = {"objectives": FRONTS, "limits": LIMITED}
TASKS = (*FRONTS, *LIMITED)


@lru_cache
def metric_task(name: str) -> MetricTask:
    """Make the task of this name.

    Example:
        >>> metric_task("zdt1").space.dimension
        6
    """
    if name in _MADE:
        return _MADE[name]
    if name not in MAKERS:
        raise ValueError(f"A task is one of {', '.join(TASKS)}; got {name!r}.")
    return MAKERS[name](name)


def mode_of(name: str) -> str:
    """Return whether a task is about objectives or about limits.

    Example:
        >>> mode_of("spring")
        'limits'
    """
    return next(mode for mode, tasks in MODES.items() if name in tasks)
