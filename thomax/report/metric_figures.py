"""Figures of several metrics: the front, how it grew, and what keeps a limit."""

import numpy as np

from thomax.report.axes import Axis
from thomax.report.content import Content
from thomax.report.figures import (
    BLUE,
    OUTSIDE,
    RED,
    Figure,
    colour_at,
    error_bars,
    failures,
    layout,
    plain,
)
from thomax.report.metrics import Step, measured, standard_error
from thomax.report.text import hover, label
from thomax.storage.front import is_feasible
from thomax.storage.trial import Trial

_LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
_ROOM = {"l": 52, "r": 14, "t": 30, "b": 42}
_MOST_LINES = 400
_FAINT, _PLAIN = 0.0, 0.6  # places on the scale of colours
_OUT = "rgba(128,128,128,0.10)"


def front(content: Content) -> Figure:
    """Draw two objectives against each other, the front joined, or more as parallel axes.

    Args:
        content: What the report says, of a search for several objectives.
    """
    if len(content.snapshot.metrics.objectives) > 2:
        return _parallel_front(content)
    first, second = content.snapshot.metrics.objectives
    groups = _groups(content)
    best = sorted(groups["front"], key=lambda t: t.values[first] or 0.0)
    line = {
        "x": plain([t.values[first] or 0.0 for t in best]),
        "y": plain([t.values[second] or 0.0 for t in best]),
        "mode": "lines", "name": "joined", "hoverinfo": "skip", "showlegend": False,
        "line": {"color": RED, "width": 1, "dash": "dot"},
    }  # fmt: skip
    looks = {
        "feasible": {"color": BLUE, "size": 7, "opacity": 0.6},
        "outside a limit": OUTSIDE,
        "front": {"color": RED, "size": 9},
    }
    dots = [
        _scatter(groups[name], first, second, name, look)
        for name, look in looks.items()
        if groups[name]
    ]
    return {
        "data": [line, *dots],
        "layout": layout(
            xaxis={"title": {"text": label(first)}},
            yaxis={"title": {"text": label(second), "standoff": 10}},
            showlegend=True, legend=_LEGEND, margin=_ROOM,
        ),
    }  # fmt: skip


def _scatter(trials: list[Trial], first: str, second: str, name: str, look: Figure) -> Figure:
    across = [standard_error(t, first) for t in trials]
    some = any(error is not None for error in across)
    bars = {"array": plain([e or 0.0 for e in across]), "color": look["color"], "width": 3}
    return {
        "x": plain([t.values[first] or 0.0 for t in trials]),
        "y": plain([t.values[second] or 0.0 for t in trials]),
        "mode": "markers",
        "name": name,
        "marker": look,
        "hoverinfo": "text",
        "hovertext": [hover(t) for t in trials],
        **error_bars(trials, second, look["color"]),
        **({"error_x": bars} if some else {}),
    }


def _groups(content: Content) -> dict[str, list[Trial]]:
    """Sort the trials that have all objectives into the front, other feasible ones, and others."""
    snapshot = content.snapshot
    names = [*snapshot.metrics.objectives]
    best = {t.number for t in snapshot.front}
    found: dict[str, list[Trial]] = {"front": [], "feasible": [], "outside a limit": []}
    for trial in snapshot.complete:
        if any(trial.values.get(name) is None for name in names):
            continue
        is_kept = is_feasible(trial, snapshot.metrics)
        kind = "feasible" if is_kept else "outside a limit"
        found["front" if trial.number in best else kind].append(trial)
    return found


def _parallel_front(content: Content) -> Figure:
    """Draw each trial as a line across its objectives, good values at the top."""
    objectives = content.snapshot.metrics.objectives
    groups = _groups(content)
    others = [*groups["outside a limit"], *groups["feasible"]][-_MOST_LINES:]
    every = [*others, *groups["front"]]
    axes = []
    for name in objectives:
        values = [v for _, v in measured(every, name, content.snapshot.metrics)]
        axes.append(Axis(name, min(values, default=0.0), max(values, default=1.0)))
    is_up = [direction == "maximize" for direction in objectives.values()]
    marks = {t.number: _FAINT for t in groups["outside a limit"]}
    marks |= {t.number: _PLAIN for t in groups["feasible"]}
    lines = []
    for trial in every:
        heights = [
            axis.unit(trial.values[axis.name]) if up else 1 - axis.unit(trial.values[axis.name])
            for axis, up in zip(axes, is_up, strict=True)
        ]
        share = marks.get(trial.number, 1.0)
        look = {"color": colour_at(share), "width": 1 + share}
        lines.append({
            "x": [*range(len(axes))], "y": plain(heights), "mode": "lines+markers", "line": look,
            "marker": {"size": 4}, "opacity": 0.3 + 0.6 * share, "hoverinfo": "text",
            "hovertext": hover(trial),
        })  # fmt: skip
    texts = [note for i, axis in enumerate(axes) for note in _ends(i, axis, is_up[i])]
    return {
        "data": lines,
        "layout": layout(
            xaxis={"visible": False, "range": [-0.4, len(axes) - 0.6], "fixedrange": True},
            yaxis={"visible": False, "range": [-0.14, 1.26], "fixedrange": True},
            annotations=texts,
            margin={"l": 14, "r": 14, "t": 4, "b": 10},
        ),
    }


def _ends(i: int, axis: Axis, is_up: bool) -> list[Figure]:
    """Return the name of an axis, and the values at its ends."""
    low, high = (axis.low, axis.high) if is_up else (axis.high, axis.low)
    return [
        {"x": i, "y": y, "text": text, "showarrow": False}
        for y, text in ((1.18, label(axis.name, 22)), (1.08, f"{high:.4g}"), (-0.08, f"{low:.4g}"))
    ]


def progress(content: Content, steps: list[Step]) -> Figure:
    """Draw how the front has grown: the volume that it dominates, or how many trials are on it.

    Args:
        content: What the report says.
        steps: How far the search had come with some trials.
    """
    volumes = [step.volume for step in steps if step.volume is not None]
    is_volume = len(volumes) == len(steps)
    line = {
        "x": [step.number for step in steps],
        "y": plain(volumes) if is_volume else [step.size for step in steps],
        "mode": "lines+markers",
        "name": "dominated volume" if is_volume else "trials on the front",
        "line": {"shape": "hv", "color": RED, "width": 2},
        "marker": {"size": 4},
    }
    title = "share of the box" if is_volume else "trials on the front"
    return {
        "data": [line, *failures(content.snapshot.failed, 0.03)],
        "layout": layout(
            xaxis={"title": {"text": "trial"}, "rangemode": "tozero"},
            yaxis={"title": {"text": title, "standoff": 10}, "rangemode": "tozero"},
            yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
            showlegend=True, legend=_LEGEND, margin=_ROOM,
        ),
    }  # fmt: skip


def limit_figure(content: Content, name: str) -> Figure:
    """Draw the values of a limited metric over the trials, and shade what breaks the limit.

    Args:
        content: What the report says.
        name: The metric.
    """
    limit = content.snapshot.metrics.limits[name]
    found = measured(content.snapshot.complete, name, content.snapshot.metrics)
    kept = [t for t, value in found if limit.margin(value) >= 0]
    broken = [t for t, value in found if limit.margin(value) < 0]
    values = {t.number: value for t, value in found}
    dots = [
        {
            "x": [t.number for t in trials],
            "y": plain([values[t.number] for t in trials]),
            "mode": "markers",
            "marker": look,
            "hoverinfo": "text",
            "hovertext": [hover(t) for t in trials],
            **error_bars(trials, name, str(look["color"])),
        }
        for trials, look in ((kept, {"color": BLUE, "size": 7}), (broken, OUTSIDE))
        if trials
    ]
    every = np.array([limit.bound, *values.values()])
    pad = 0.08 * float(np.ptp(every)) or 1.0
    low, high = float(every.min()) - pad, float(every.max()) + pad
    edge = {"xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
    ends = (limit.bound, high) if limit.is_upper else (low, limit.bound)
    shade = {"type": "rect", "y0": ends[0], "y1": ends[1], "fillcolor": _OUT, "line": {"width": 0}}
    rule = {
        "type": "line",
        "y0": limit.bound,
        "y1": limit.bound,
        "line": {"color": RED, "width": 1},
    }
    return {
        "data": dots,
        "layout": layout(
            xaxis={"title": {"text": "trial"}},
            yaxis={"title": {"text": label(name), "standoff": 10}, "range": plain([low, high])},
            shapes=[{**edge, **shade}, {**edge, **rule}],
        ),
    }
