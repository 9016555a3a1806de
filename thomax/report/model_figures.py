"""Figures of the model: importance, cuts along parameters, candidates of a pool."""

import numpy as np

from thomax.report.axes import Axis
from thomax.report.candidates import Candidates
from thomax.report.content import Content
from thomax.report.figures import BLUE, ORANGE, Figure, error_bars, layout, plain
from thomax.report.importance import Importance
from thomax.report.slices import Pair, Slice
from thomax.report.text import brief, hover, label
from thomax.storage.trial import value_of

_BAND = "rgba(245,158,11,0.22)"


def importance_bars(importance: Importance) -> Figure:
    """Draw each parameter's share of the variance, alone and in total, and the draws' spread.

    Args:
        importance: What each parameter explains.
    """
    order = np.argsort(importance.total, kind="stable")
    names = [label(importance.names[i]) for i in order]
    # Names may be equal once shortened: the axis counts, and the names are its ticks.
    y = [*range(len(order))]
    most = 100 * float(max(importance.total.max(), importance.high.max(), 0.01))

    def bar(shares: np.ndarray, name: str, **look: object) -> Figure:
        texts = [f"{n}: {100 * s:.1f} % {name}" for n, s in zip(names, shares[order], strict=True)]
        return {
            "type": "bar", "orientation": "h", "y": y, "x": plain(100 * shares[order]),
            "name": name, "hoverinfo": "text", "hovertext": texts, "textposition": "none", **look,
        }  # fmt: skip

    spread = {
        "y": [v for i in y for v in (i, i, None)],
        "x": [
            v
            for i in order
            for v in (*plain(100 * np.array([importance.low[i], importance.high[i]])), None)
        ],
        "mode": "lines",
        "name": "alone, 5–95 % of draws",
        "line": {"color": "rgba(128,128,128,0.9)", "width": 2},
        "hoverinfo": "skip",
    }
    return {
        "data": [
            bar(importance.total, "with interactions", marker={"color": "rgba(59,130,246,0.35)"}),
            bar(importance.first, "alone", marker={"color": BLUE}, width=0.45),
            spread,
        ],
        "layout": layout(
            barmode="overlay",
            # The draws are measured by the mean's variance: some may have more than all of it.
            xaxis={"title": {"text": "% of the variance"}, "range": [0, min(105.0, 1.05 * most)]},
            yaxis={"tickvals": y, "ticktext": names, "showgrid": False},
            showlegend=True,
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            margin={"l": 52, "r": 14, "t": 30, "b": 42},
        ),
    }


def value_range(content: Content) -> list[float | None]:
    """Return the ends of the value axis that all slices share: bands, and all but poor values.

    Args:
        content: What the report says.
    """
    values = np.array([content.snapshot.sign * value_of(t) for t in content.snapshot.complete])
    seen = content.snapshot.sign * np.array([np.quantile(values, 0.25), values.max()])
    bands = [edge for s in content.slices for edge in (s.low, s.high)]
    every = np.concatenate([seen, *bands])
    pad = 0.05 * float(every.max() - every.min())
    return plain([every.min() - pad, every.max() + pad])


def slice_figure(content: Content, cut: Slice, ends: list[float | None]) -> Figure:
    """Draw the belief along one parameter, and all observed values beside it.

    Args:
        content: What the report says.
        cut: The model along one parameter.
        ends: The ends of the value axis.
    """
    axis = content.axes[cut.name]
    x = [axis.coordinate(v) for v in cut.values]
    model = _dots_with_bars(x, cut) if axis.options is not None else _lines_with_band(x, cut)
    trials = [t for t in content.snapshot.complete if cut.name in t.params]
    observed = {
        "x": [axis.coordinate(t.params[cut.name]) for t in trials],
        "y": plain([value_of(t) for t in trials]),
        "mode": "markers",
        "marker": {"color": BLUE, "size": 5, "opacity": 0.55},
        "hoverinfo": "text",
        "hovertext": [brief(t) for t in trials],
        **error_bars(trials, content.snapshot.metrics.names[0]),
    }
    return {
        "data": [*model, observed],
        "layout": layout(
            xaxis=axis_layout(axis),
            yaxis={"range": ends},
            margin={"l": 46, "r": 8, "t": 8, "b": 44},
        ),
    }


def _lines_with_band(x: list[float], cut: Slice) -> list[Figure]:
    shared = {"x": x, "mode": "lines", "hoverinfo": "skip"}
    band = [
        {**shared, "y": plain(cut.low), "line": {"width": 0}},
        {
            **shared,
            "y": plain(cut.high),
            "line": {"width": 0},
            "fill": "tonexty",
            "fillcolor": _BAND,
        },
    ]
    thin = {"color": ORANGE, "width": 0.8, "dash": "dot"}
    samples = [{**shared, "y": plain(draw), "line": thin} for draw in cut.samples]
    return [
        *band,
        *samples,
        {**shared, "y": plain(cut.mean), "line": {"color": ORANGE, "width": 2}},
    ]


def _dots_with_bars(x: list[float], cut: Slice) -> list[Figure]:
    samples = [
        {
            "x": x, "y": plain(draw), "mode": "markers", "hoverinfo": "skip", "opacity": 0.7,
            "marker": {"color": ORANGE, "symbol": "line-ew-open", "size": 8},
        }
        for draw in cut.samples
    ]  # fmt: skip
    return [*samples, _means_with_bars(x, cut.mean, cut.low, cut.high)]


def _means_with_bars(
    x: list[float], mean: np.ndarray, low: np.ndarray, high: np.ndarray
) -> Figure:
    return {
        "x": x,
        "y": plain(mean),
        "mode": "markers",
        "marker": {"color": ORANGE, "size": 9},
        "error_y": {
            "symmetric": False, "array": plain(high - mean), "arrayminus": plain(mean - low),
            "color": ORANGE, "thickness": 1.5, "width": 5,
        },
        "hoverinfo": "y",
    }  # fmt: skip


def pair_figure(content: Content, cut: Pair) -> Figure:
    """Draw the posterior mean over two parameters, and where trials were.

    Args:
        content: What the report says.
        cut: The model over two parameters.
    """
    axes = [content.axes[name] for name in cut.names]
    x, y = ([a.coordinate(v) for v in vs] for a, vs in zip(axes, cut.values, strict=True))
    trials = [t for t in content.snapshot.complete if all(name in t.params for name in cut.names)]
    first, second = cut.names
    dots = {
        "x": [axes[0].coordinate(t.params[first]) for t in trials],
        "y": [axes[1].coordinate(t.params[second]) for t in trials],
        "mode": "markers",
        "marker": {"color": "white", "size": 5, "line": {"color": "black", "width": 1}},
        "hoverinfo": "text",
        "hovertext": [brief(t) for t in trials],
    }
    heat = {
        "type": "heatmap", "x": x, "y": y, "z": [plain(row) for row in cut.mean],
        "colorscale": "Viridis", "reversescale": content.snapshot.sign < 0, "hoverinfo": "z",
        "colorbar": {"thickness": 8, "outlinewidth": 0, "tickfont": {"size": 10}},
    }  # fmt: skip
    return {
        "data": [heat, dots],
        "layout": layout(
            xaxis=axis_layout(axes[0]),
            yaxis=axis_layout(axes[1]),
            margin={"l": 46, "r": 8, "t": 8, "b": 44},
        ),
    }


def axis_layout(axis: Axis) -> Figure:
    """Return how plotly draws a parameter's axis.

    Args:
        axis: The axis of a parameter.
    """
    title = {"title": {"text": label(axis.name), "standoff": 6}}
    if axis.options is not None:
        texts = [label(option, 12) for option in axis.options]
        ends = [-0.5, len(texts) - 0.5]
        return {**title, "tickvals": [*range(len(texts))], "ticktext": texts, "range": ends}
    if not axis.log:
        return title
    few = axis.high < 100 * axis.low  # then ticks at 2 and 5 as well as at powers of ten
    return {**title, "type": "log", "dtick": "D2" if few else 1}


def candidates_figure(content: Content, found: Candidates) -> Figure:
    """Draw the candidates that the model expects most of; those evaluated have a blue dot.

    Args:
        content: What the report says.
        found: The candidates to draw.
    """
    values = {t.params.get("index"): t for t in content.snapshot.complete}
    x = [*range(1, len(found.params) + 1)]
    names = [label(p.get("name", p.get("label", p["index"])), 12) for p in found.params]
    known = [
        (i, values[p["index"]])
        for i, p in zip(x, found.params, strict=True)
        if p["index"] in values
    ]
    observed = {
        "x": [i for i, _ in known],
        "y": plain([value_of(t) for _, t in known]),
        "mode": "markers",
        "name": "observed",
        "marker": {"color": BLUE, "size": 7},
        "hoverinfo": "text",
        "hovertext": [hover(t) for _, t in known],
    }
    bars = _means_with_bars(x, found.mean, found.low, found.high)
    return {
        "data": [{**bars, "name": "model, 5–95 %"}, observed],
        "layout": layout(
            xaxis={
                "tickvals": x,
                "ticktext": names,
                "title": {"text": "candidate"},
                "showgrid": False,
            },
            yaxis={"title": {"text": "value", "standoff": 10}},
            showlegend=True,
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            margin={"l": 52, "r": 14, "t": 30, "b": 42},
        ),
    }
