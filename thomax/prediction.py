"""What the model expects at any points, in the objective's units: `Optimizer.predict`.

The posterior of the function at a point is normal on the scale of the targets, and a measurement
adds the fitted noise. Where targets are warped, means and deviations in the objective's units are
integrals over the normal distribution; quantiles pass through the way back, which is monotone.

Scales, amplitude and noise are fitted to the same n values, and so the normal distribution is too
narrow while these are few. Integrating over the amplitude alone would make it a Student
distribution with about n degrees of freedom; intervals take n / 2 for all that is fitted.
docs/research/coverage.md has what they hold.

Notation:
    z        nodes of a standard normal
    targets  values on the scale of the model: standardised, and maybe warped
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

from thomax.keys import NO_TRIAL, make_keys
from thomax.model.data import Data
from thomax.model.evaluation import in_units
from thomax.model.targets import invertible
from thomax.policies.base import Policy
from thomax.policies.prepared import HasMarginals, Marginals
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.trial import Direction, Trial, sign_of
from thomax.suggest import FEWEST_VALUES, belief_policy, default_policy
from thomax.support.types import Params, ParamsLike

if TYPE_CHECKING:
    import pandas as pd

_EDGE = 0.05  # of the distribution on either side of an interval
_NODES = 64  # of a quadrature over the normal distribution
_DRAWS, _AT_ONCE = 128, 16  # where no closed form is known
_NOISES = 31  # quantiles of the noise that are added to each draw
_SHOWN = 20  # points of a prediction in a notebook or on one line each


@dataclass(frozen=True)
class Prediction:
    """What the model expects at some points, an entry of each array for each point.

    All arrays have length 1 for a single point. The units are those of the values told.

    Args:
        params: The points.
        mean: The expected value of the objective.
        std: The standard deviation of the objective around it, freed of noise: how little the
            model knows.
        low: The 5 % quantile of the objective, freed of noise.
        high: Its 95 % quantile.
        measurement_low: The 5 % quantile of one more measurement, noise included.
        measurement_high: Its 95 % quantile.

    Examples:
        >>> one = np.array([1.0])
        >>> Prediction([{"x": 0.5}], one, 0 * one, one, one, 0 * one, 2 * one)
        Prediction of 1 point:
          mean  std  low  high  measurement_low  measurement_high  params
             1    0    1     1                0                 2  {'x': 0.5}
    """

    params: Sequence[Params]
    mean: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray
    measurement_low: np.ndarray
    measurement_high: np.ndarray

    def __len__(self) -> int:
        return len(self.mean)

    def rows(self) -> list[dict[str, float]]:
        """Return the numbers of each point by their names."""
        columns = {name: getattr(self, name).tolist() for name in NUMBERS}
        return [{name: columns[name][i] for name in NUMBERS} for i in range(len(self))]

    def to_dataframe(self) -> "pd.DataFrame":
        """Return points and numbers as a pandas DataFrame, a column for each parameter.

        A parameter called like one of the numbers gets the prefix "params.".
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: pip install thomax[table]") from error
        named = [
            {f"params.{n}" if n in NUMBERS else n: value for n, value in point.items()}
            for point in self.params
        ]
        rows = zip(named, self.rows(), strict=True)
        return pd.DataFrame([{**point, **numbers} for point, numbers in rows])

    def __repr__(self) -> str:
        head, rows = [*NUMBERS, "params"], self._cells()
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(NUMBERS))]
        lines = [
            "  ".join([*map(str.rjust, row, widths), row[-1]])
            for row in [head, *rows]
        ]  # fmt: skip
        many = f"{len(self)} point{'' if len(self) == 1 else 's'}"
        return "\n  ".join([f"Prediction of {many}:", *lines, *self._left_out()])

    def _repr_html_(self) -> str:
        cells = [[*NUMBERS, "params"], *self._cells()]
        lines = [
            "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
            for tag, row in zip(["th", *["td"] * len(cells)], cells, strict=False)
        ]
        return f"<table>{''.join(lines)}</table>" + "".join(
            f"<p>{t}</p>" for t in self._left_out()
        )

    def _cells(self) -> list[list[str]]:
        shown = zip(self.rows()[:_SHOWN], self.params, strict=False)
        return [[*(f"{v:.6g}" for v in row.values()), str(point)] for row, point in shown]

    def _left_out(self) -> list[str]:
        more = len(self) - _SHOWN
        return [f"... {more} more: see rows() or to_dataframe()"] if more > 0 else []


NUMBERS = ("mean", "std", "low", "high", "measurement_low", "measurement_high")


def points_of(space: Space | Pool, points: object) -> list[Params]:
    """Return the points that a user wants predictions of, in canonical form, or raise.

    Points that the constraint refuses are points all the same.

    Args:
        space: The space that is searched.
        points: The params of one point or of several, or trials.
    """
    several = [points] if isinstance(points, Mapping | Trial) else points
    if isinstance(several, str) or not isinstance(several, Sequence):
        raise TypeError(
            "predict needs the params of a point, or a list of them, got "
            f'{type(points).__name__}: a DataFrame has them as points.to_dict("records").'
        )
    found = []
    for i, point in enumerate(several):
        params = point.params if isinstance(point, Trial) else point
        try:
            found.append(canonical_point(space, params))
        except (ValueError, TypeError) as error:
            raise type(error)(f"predict, point {i}: {error}") from None
    return found


def canonical_point(space: Space | Pool, params: ParamsLike) -> Params:
    """Return a point in canonical form, whether or not the constraint allows it.

    Args:
        space: The space that is searched.
        params: One point.
    """
    if isinstance(space, Pool):
        return space.validate(params)
    return Space(space.parameters).validate(params)


def predict(
    policy: Policy,
    space: Space | Pool,
    data: Data,
    params: Sequence[Params],
    *,
    direction: Direction,
    seed: int,
    metric: str | None = None,
) -> Prediction:
    """Return what the model expects of the objective at points.

    The belief is that of the report: draws at the full deviation of the posterior, with as much
    noise as the data say, whatever the search takes to propose points.

    Args:
        policy: The policy of the search; where it is no model, the default one takes its place.
        space: The space that is searched.
        data: What has been observed, larger values being better; failures are left out.
        params: The points, in canonical form.
        direction: "maximize" if large values are best, "minimize" if small ones are.
        seed: The seed of the draws, where no closed form is known.
        metric: The name of the metric, for the error message.

    Raises:
        ValueError: If fewer than three values were told.
    """
    data = data.successes()
    if len(data) < FEWEST_VALUES:
        of = "" if metric is None else f" of {metric!r}"
        raise ValueError(
            f"predict needs at least {FEWEST_VALUES} trials with a value{of}, got {len(data)}: "
            "tell more values first."
        )
    if not params:
        return Prediction([], **dict.fromkeys(NUMBERS, np.empty(0)))
    x = np.asarray(space.encode(params), np.float32)
    believing = belief_policy(policy, space, beta=1.0)
    marginals = _marginals(believing, data, x)
    if marginals is not None:
        found = _of_normal(marginals, freedom=len(data) / 2)
    else:
        noise_std = _noise_std(space, data)
        found = _spread_of_draws(_drawn(believing, data, x, seed), noise_std)
    if sign_of(direction) < 0:
        found = _mirrored(found)
    return Prediction(params, **found)


def _marginals(policy: Policy, data: Data, x: np.ndarray) -> Marginals | None:
    """Return the posterior in closed form, with a way back that is exact, where there is one.

    A search pulls in wild values, which it need not tell apart; whoever wants to know what to
    expect there does.
    """
    if not isinstance(policy, HasMarginals):
        return None
    if not getattr(policy, "standardise", False):
        return policy.marginals(data, x)
    assert is_dataclass(policy)
    standard = invertible(data.y)
    on_targets: Any = replace(policy, standardise=False)
    found: Marginals | None = on_targets.marginals(Data(data.x, standard.targets), x)
    return None if found is None else replace(found, standard=standard)


def _of_normal(m: Marginals, freedom: float) -> dict[str, np.ndarray]:
    """Bring the distributions at the points to the units of the values."""
    edge = float(scipy.special.stdtrit(freedom, 1 - _EDGE))
    wide = np.hypot(m.std, m.noise_std)
    quantiles = [m.mean - edge * m.std, m.mean + edge * m.std]
    quantiles += [m.mean - edge * wide, m.mean + edge * wide]
    mean, std = _moments(m)
    return dict(zip(NUMBERS, [mean, std, *map(m.standard.values, quantiles)], strict=True))


def _moments(m: Marginals) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and deviation of the function's values: by quadrature if targets are warped."""
    if m.standard.warping is None:
        return m.standard.values(m.mean), m.standard.scale * m.std
    z, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    values = m.standard.values((m.mean[:, None] + m.std[:, None] * z).reshape(-1))
    values = values.reshape(-1, _NODES)
    mean = values @ weights
    return mean, np.sqrt(np.square(values - mean[:, None]) @ weights)


def _drawn(policy: Policy, data: Data, x: np.ndarray, seed: int) -> np.ndarray:
    """Return the values of many draws at the points, (draws, N), a few draws at a time."""
    keys = make_keys(seed, _DRAWS, first=NO_TRIAL)
    groups = (keys[start : start + _AT_ONCE] for start in range(0, _DRAWS, _AT_ONCE))
    return np.concatenate([in_units(policy(group, data), x) for group in groups])


def _noise_std(space: Space | Pool, data: Data) -> float:
    """Return the noise in the units of the values, for policies that do not tell theirs."""
    model = belief_policy(default_policy(space), space, warp_targets=False)
    assert isinstance(model, HasMarginals)
    found = model.marginals(data, data.x[:1])
    assert found is not None  # the default network has an exact kernel
    return found.noise_std * found.standard.scale


def _spread_of_draws(draws: np.ndarray, noise_std: float) -> dict[str, np.ndarray]:
    """Take mean, deviation and quantiles over draws, (draws, N), and over draws with noise."""
    z = scipy.special.ndtri((np.arange(_NOISES) + 0.5) / _NOISES)
    noisy = (draws[:, None] + noise_std * z[:, None]).reshape(-1, draws.shape[1])
    edges = [_EDGE, 1 - _EDGE]
    rows = [draws.mean(axis=0), draws.std(axis=0, ddof=1)]
    rows += [*np.quantile(draws, edges, axis=0), *np.quantile(noisy, edges, axis=0)]
    return dict(zip(NUMBERS, rows, strict=True))


def _mirrored(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Turn values of which larger is better into values of which smaller is."""
    swapped = {"low": "high", "measurement_low": "measurement_high"}
    swapped |= {high: low for low, high in swapped.items()}
    return {
        name: v if name == "std" else -found[swapped.get(name, name)] for name, v in found.items()
    }
