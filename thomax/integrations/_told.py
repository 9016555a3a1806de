"""What an outcome would have to be told as, to copy it into another search."""

from collections.abc import Sequence
from typing import NamedTuple

from thomax.storage.metrics import UNNAMED
from thomax.storage.outcomes import NoiseStd, Value
from thomax.storage.trial import Correction, Trial


class Measurement(NamedTuple):
    """The arguments of `tell` that say what was measured.

    Args:
        value: A number, a list of repeated measurements, or one of these for each metric.
        noise_std: The known standard deviation of one measurement, by name if the value is.
    """

    value: Value
    noise_std: NoiseStd = None


def measurement(outcome: Trial | Correction) -> Measurement:
    """Return what was measured in a trial: nothing if it has failed.

    Args:
        outcome: The trial, or what it was before a correction.

    Examples:
        >>> measurement(Trial(0, {}, 0.5, "complete", replicates={"value": [0.25, 0.75]}))
        Measurement(value=[0.25, 0.75], noise_std=None)
    """
    repeated = {name: [*each] for name, each in outcome.replicates.items()}
    if not outcome.values:
        value: float | Sequence[float] | None = repeated.get(UNNAMED, outcome.value)
        return Measurement(value, outcome.noise_std.get(UNNAMED))
    return Measurement({**outcome.values, **repeated}, {**outcome.noise_std} or None)
