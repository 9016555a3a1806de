"""Figures of the trials: what was observed. Plain dictionaries that plotly.js draws.

Only drawn as SVG: plotly's own parallel coordinates need WebGL and compile code at run time,
which the page's security policy forbids.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thomax.report.axes import Axis
from thomax.report.content import Content, best_so_far, valued
from thomax.report.metrics import standard_error
from thomax.report.text import brief, hover, label, number
from thomax.storage.front import is_feasible
from thomax.storage.trial import Trial, value_of

Figure = dict[str, Any]  # what plotly draws: nested dicts and lists of JSON
Stops = list[tuple[float, tuple[int, int, int]]]

BLUE, ORANGE, RED = "#3b82f6", "#f59e0b", "#e11d48"
OUTSIDE: Figure = {"color": "rgb(128,128,128)", "symbol": "circle-open", "size": 7}
GRID = "rgba(128,128,128,0.22)"
_SHADE = "rgba(128,128,128,0.10)"
_COLOURS: Stops = [(0.0, (148, 163, 184)), (0.6, (59, 130, 246)), (1.0, (225, 29, 72))]
_MOST_LINES = 400  # trials in parallel coordinates
_MOST_SHADES = 40  # batches: more are stripes
_INACTIVE = -0.14  # below all values


def plain(values: ArrayLike) -> list[float | None]:
    """Return numbers as JSON has them, six digits long: NaN is null.

    Args:
        values: The numbers.
    """
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in np.asarray(values, float)]


def layout(**own: Any) -> Figure:
    """Return the layout that all figures share, completed by a figure's own.

    Args:
        **own: Entries of plotly's layout that complete or replace the shared ones.
    """
    axis = {"gridcolor": GRID, "zeroline": False, "automargin": True}
    shared = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 52, "r": 14, "t": 14, "b": 42},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": axis | own.pop("xaxis", {}),
        "yaxis": axis | own.pop("yaxis", {}),
    }
    return shared | own


def convergence(content: Content) -> Figure:
    """Draw every value, the best so far, the model's belief, and failures at the bad end.

    Args:
        content: What the report says.
    """
    snapshot = content.snapshot
    steps = best_so_far(snapshot)
    kept = [t for t in valued(snapshot) if is_feasible(t, snapshot.metrics)]
    broken = [t for t in valued(snapshot) if not is_feasible(t, snapshot.metrics)]
    name = snapshot.metrics.names[0]
    dots = [
        _dots(kept, name, "observed", {"color": BLUE, "size": 7, "opacity": 0.85}),
        *([_dots(broken, name, "outside a limit", OUTSIDE)] if broken else []),
    ]
    line = {
        "x": [n for n, _ in steps],
        "y": plain([v for _, v in steps]),
        "mode": "lines",
        "name": "best so far",
        "line": {"shape": "hv", "color": RED, "width": 2},
        "hoverinfo": "skip",
    }
    return {
        "data": [
            *_belief_bars(content),
            line,
            *dots,
            *failures(snapshot.failed, 0.03 if snapshot.sign > 0 else 0.97),
        ],
        "layout": layout(
            xaxis={"title": {"text": "trial"}, "rangemode": "tozero"},
            yaxis={"title": {"text": label(name), "standoff": 10}},
            yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
            showlegend=True,
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            margin={"l": 52, "r": 14, "t": 30, "b": 42},
            shapes=batch_shades(snapshot.batches),
        ),
    }


def error_bars(trials: Sequence[Trial], name: str, color: str = BLUE) -> Figure:
    """Return the standard errors of values as a part of a trace; nothing where none is known.

    Args:
        trials: The trials of the trace.
        name: The metric.
        color: That of the dots.
    """
    errors = [standard_error(t, name) for t in trials]
    if all(error is None for error in errors):
        return {}
    return {"error_y": {"array": plain([e or 0.0 for e in errors]), "color": color, "width": 3}}


def _dots(trials: list[Trial], name: str, title: str, marker: Figure) -> Figure:
    return {
        "x": [t.number for t in trials],
        "y": plain([value_of(t) for t in trials]),
        "mode": "markers",
        "name": title,
        "marker": marker,
        "hoverinfo": "text",
        "hovertext": [hover(t) for t in trials],
        **error_bars(trials, name, marker["color"]),
    }


def _belief_bars(content: Content) -> list[Figure]:
    trials = [t for t in valued(content.snapshot) if t.number in content.beliefs]
    if not trials:
        return []
    means, stds = np.array([content.beliefs[t.number] for t in trials]).T
    texts = [
        f"{brief(t)}<br>model {number(m)} ± {number(2 * s)}"
        for t, m, s in zip(trials, means, stds, strict=True)
    ]
    return [
        {
            "x": [t.number for t in trials],
            "y": plain(means),
            "error_y": {"array": plain(2 * stds), "color": ORANGE, "thickness": 1, "width": 0},
            "mode": "markers",
            "name": "model ± 2 sd",
            "opacity": 0.6,
            "marker": {"color": ORANGE, "symbol": "line-ew-open", "size": 7},
            "hoverinfo": "text",
            "hovertext": texts,
        }
    ]


def failures(failed: list[Trial], height: float) -> list[Figure]:
    """Draw failed trials as crosses at a height of the second axis, which goes from 0 to 1.

    Args:
        failed: The failed trials.
        height: Where they are.
    """
    if not failed:
        return []
    return [
        {
            "x": [t.number for t in failed],
            "y": [height] * len(failed),
            "yaxis": "y2",
            "mode": "markers",
            "name": "failed",
            "marker": {"color": RED, "symbol": "x", "size": 8},
            "hoverinfo": "text",
            "hovertext": [hover(t, label(t.error or "", 80)) for t in failed],
        }
    ]


def batch_shades(batches: list[list[int]]) -> list[Figure]:
    """Shade every second batch, unless all are single trials or there are too many to tell.

    Args:
        batches: The numbers of the trials of each batch.
    """
    if len(batches) > _MOST_SHADES or all(len(batch) == 1 for batch in batches):
        return []
    return [
        {
            "type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": _SHADE,
            "x0": min(batch) - 0.5, "x1": max(batch) + 0.5,
            "yref": "paper", "y0": 0, "y1": 1,
        }
        for batch in batches[::2]
    ]  # fmt: skip


def convergence_views(content: Content) -> dict[str, Figure]:
    """Return the ways to look at the values: what each button changes of the layout.

    Args:
        content: What the report says.
    """
    if content.snapshot.metrics.only is None:
        return {}
    values = np.array([value_of(t) for t in valued(content.snapshot)])
    if len(values) < 4:
        return {}
    views: dict[str, Figure] = {"all values": {"yaxis.type": "linear", "yaxis.autorange": True}}
    best, middle = (
        float(content.snapshot.sign * (content.snapshot.sign * values).max()),
        np.median(values),
    )
    if best != middle:
        pad = 0.06 * (best - middle)
        ends = sorted([float(middle - pad), float(best + pad)])
        views["better half"] = {"yaxis.type": "linear", "yaxis.range": plain(ends)}
    if values.min() > 0 and values.max() > 50 * values.min():
        views["logarithmic"] = {"yaxis.type": "log", "yaxis.autorange": True}
    return views if len(views) > 1 else {}


def parallel(content: Content) -> Figure:
    """Draw each trial as a line across its parameters, the best ones red and on top.

    Args:
        content: What the report says.
    """
    axes = [*content.axes.values()]
    trials = _drawn(content)[::-1]
    shares, bar = _shares(content, trials)
    lines = [_line(t, axes, share) for t, share in zip(trials, shares, strict=True)]
    texts = [text for i, axis in enumerate(axes) for text in _texts(i, axis, trials)]
    low_end = -0.2 if _some_inactive(trials, axes) else -0.06
    return {
        "data": [*lines, *bar],
        "layout": layout(
            xaxis={"visible": False, "range": [-0.55, len(axes) - 0.4], "fixedrange": True},
            yaxis={"visible": False, "range": [low_end, 1.26], "fixedrange": True},
            shapes=[_upright(i) for i in range(len(axes))],
            annotations=texts,
            margin={"l": 14, "r": 14, "t": 4, "b": 10},
        ),
    }  # fmt: skip


def _drawn(content: Content) -> list[Trial]:
    """Return the trials that are lines, the best or the front first."""
    first = {t.number: t for t in content.snapshot.ranked}
    others = [t for t in content.snapshot.complete if t.number not in first]
    return [*first.values(), *others][:_MOST_LINES]


def _shares(content: Content, trials: list[Trial]) -> tuple[list[float], list[Figure]]:
    """Return where trials stand between poor (0) and best (1), and the bar that explains it."""
    best = {t.number for t in content.snapshot.ranked}
    if content.snapshot.metrics.only is None or not best:
        return [1.0 if t.number in best else 0.2 for t in trials], [{}]
    low, high = colour_range(content)
    span = high / 2 - low / 2  # halves: values may be as far apart as floats reach
    values = [value_of(t) if t.number in best else low for t in trials]
    shares = np.clip([(value / 2 - low / 2) / (span or 1.0) for value in values], 0, 1)
    bar = {
        "x": [None], "y": [None], "mode": "markers", "hoverinfo": "skip",
        "marker": {
            "color": [low], "cmin": min(low, high), "cmax": max(low, high), "showscale": True,
            "colorscale": [[s, colour_at(s)] for s, _ in _COLOURS], "reversescale": high < low,
            "colorbar": {"thickness": 10, "outlinewidth": 0, "len": 0.9, "title": {"text": ""}},
        },
    }  # fmt: skip
    return [float(share) for share in shares], [bar]


def parallel_views(content: Content) -> dict[str, Figure]:
    """Return which lines each button shows; the last trace is the colour bar.

    Args:
        content: What the report says.
    """
    count = len(_drawn(content))
    if count < 10:
        return {}
    if content.snapshot.metrics.only is None:
        front = min(len(content.snapshot.front), count)
        hidden = [False] * (count - front) + [True] * (front + 1)
        return {"all": {"visible": [True] * (count + 1)}, "front": {"visible": hidden}}
    kept = {"all": count, "best quarter": -(-count // 4), "best tenth": -(-count // 10)}
    return {
        name: {"visible": [False] * (count - k) + [True] * (k + 1)} for name, k in kept.items()
    }


def colour_range(content: Content) -> tuple[float, float]:
    """Return the values at the ends of the colours: a poor one, so that outliers do not rule.

    Args:
        content: What the report says.
    """
    values = content.snapshot.sign * np.array([value_of(t) for t in content.snapshot.ranked])
    poor, best = content.snapshot.sign * np.quantile(values, [0.1, 1.0])
    return float(poor), float(best)


def colour_at(share: float) -> str:
    """Return the colour between poor (0) and best (1).

    Args:
        share: A number from 0 to 1.

    Examples:
        >>> colour_at(1.0)
        'rgb(225,29,72)'
    """
    stops, colours = zip(*_COLOURS, strict=True)
    red, green, blue = (round(np.interp(share, stops, c)) for c in zip(*colours, strict=True))
    return f"rgb({red},{green},{blue})"


def _line(trial: Trial, axes: list[Axis], share: float) -> Figure:
    y = [
        axis.unit(trial.params[axis.name]) if axis.name in trial.params else _INACTIVE
        for axis in axes
    ]
    return {
        "x": [*range(len(axes))],
        "y": plain(y),
        "mode": "lines+markers",
        "line": {"color": colour_at(share), "width": 1 + 1.5 * share},
        "marker": {"size": 4},
        "opacity": 0.35 + 0.6 * share,
        "hoverinfo": "text",
        "hovertext": hover(trial),
    }


def _upright(i: int) -> Figure:
    return {
        "type": "line", "x0": i, "x1": i, "y0": 0, "y1": 1, "layer": "below",
        "line": {"color": "rgba(128,128,128,0.6)", "width": 1},
    }  # fmt: skip


def _some_inactive(trials: list[Trial], axes: list[Axis]) -> bool:
    return any(axis.name not in t.params for t in trials for axis in axes)


def _texts(i: int, axis: Axis, trials: list[Trial]) -> list[Figure]:
    """Return the name of an axis, in one of two rows so that neighbours fit, and its ticks."""
    name = {
        "x": i, "y": 1.2 if i % 2 else 1.1, "text": label(axis.name, 22), "showarrow": False,
    }  # fmt: skip
    ticks = [(unit, label(text, 14)) for unit, text in axis.ticks()]
    if _some_inactive(trials, [axis]):
        ticks.append((_INACTIVE, "–"))
    return [name] + [
        {
            "x": i, "y": unit, "text": text, "showarrow": False, "xanchor": "left", "xshift": 4,
            "font": {"size": 10 if unit >= 0 else 13},
        }
        for unit, text in ticks
    ]  # fmt: skip
