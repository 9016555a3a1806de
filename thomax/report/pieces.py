"""Pieces of HTML: what sections are put together from. Every text is escaped here or before."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import chain, repeat
from typing import TypeVar

from thomax.report.text import readable_json, shown
from thomax.storage.trial import Trial

Row = TypeVar("Row")

MOST_PARAMS = 12  # of a trial that are seen at once
FEW_MORE = 3  # are not worth a click
_MOST_INLINE = 3  # params in a cell of a table


class Sheet:
    """Collect sections and the figures that stand in them."""

    def __init__(self) -> None:
        self.sections: list[str] = []
        self.links: list[str] = []
        self.figures: dict[str, Mapping[str, object]] = {}

    def add(self, name: str, title: str, how: str, *parts: str) -> None:
        """Append a section with a sentence on how to read it.

        Args:
            name: The anchor of the section.
            title: Its heading.
            how: A sentence on how to read it, which is HTML already.
            *parts: Pieces of HTML; empty ones are left out.
        """
        self.links.append(f'<a href="#{name}">{title}</a>')
        body = "\n".join(part for part in parts if part)
        self.sections.append(
            f'<section id="{name}"><h2>{title}</h2>\n<p class="how">{how}</p>\n{body}</section>'
        )

    def figure(self, name: str, figure: Mapping[str, object], height: int) -> str:
        """Keep a figure, and return the place where it will be drawn.

        Args:
            name: What identifies the figure on the page.
            figure: Data and layout for plotly.
            height: Its height in pixels.
        """
        self.figures[f"figure-{name}"] = figure
        return f'<div class="figure" id="figure-{name}" style="height:{height}px"></div>'


def big(text: str) -> str:
    """Return a number that is seen first.

    Args:
        text: HTML.
    """
    return f'<div class="big">{text}</div>'


def note(text: str) -> str:
    """Return a remark below the rest; nothing where nothing is said.

    Args:
        text: The remark, not escaped yet.
    """
    return f'<p class="note">{escape(text)}</p>' if text else ""


def params_table(trial: Trial) -> str:
    """Return params below each other, those beyond a screen's height folded.

    Args:
        trial: The trial.
    """
    rows = [
        f"<tr><th>{escape(shown(name))}</th><td>{escape(shown(v))}</td></tr>"
        for name, v in trial.params.items()
    ]
    return in_part(rows, MOST_PARAMS, "parameters", _params_rows)


def _params_rows(rows: Sequence[str]) -> str:
    return f'<table class="params">{"".join(rows)}</table>'


def in_part(
    rows: Sequence[Row], most: int, what: str, show: Callable[[Sequence[Row]], str]
) -> str:
    """Show the first rows, and fold the others away if they are more than a few.

    Args:
        rows: All rows.
        most: How many are seen at first.
        what: What the rows are called.
        show: Turns rows into HTML.
    """
    if len(rows) <= most + FEW_MORE:
        return show(rows)
    return show(rows[:most]) + folded(f"{len(rows) - most} more {what}", show(rows[most:]))


def folded(summary: str, body: str) -> str:
    """Return what opens on a click.

    Args:
        summary: What is seen at first, which is HTML already.
        body: What is seen after a click, which is HTML already.
    """
    return f"<details><summary>{summary}</summary>{body}</details>"


def params_json(trial: Trial) -> str:
    """Return params to copy.

    Args:
        trial: The trial.
    """
    return (
        f"<p>Trial {trial.number} as JSON; one click selects all:</p>"
        f"<pre>{escape(readable_json(trial.params))}</pre>"
    )


def inline(trial: Trial, longest: int = 300) -> str:
    """Return params in one line, not escaped yet.

    Args:
        trial: The trial.
        longest: The number of characters to cut the text at.
    """
    return shown(", ".join(f"{n}={shown(v, 40)}" for n, v in trial.params.items()), longest)


def params_cell(trial: Trial) -> str:
    """Return params in a cell of a table: the first of many, the others folded.

    Args:
        trial: The trial.
    """
    names = [*trial.params]
    if len(names) <= _MOST_INLINE + FEW_MORE:
        return escape(inline(trial))
    first = replace(trial, params={name: trial.params[name] for name in names[:_MOST_INLINE]})
    return folded(f"{escape(inline(first))}, … {len(names)} in all", escape(inline(trial, 2000)))


def grid(places: Iterable[str]) -> str:
    """Return figures side by side, as many as there is room for.

    Args:
        places: The HTML of each figure.
    """
    return f'<div class="grid">{"".join(places)}</div>'


def view_buttons(figure: str, views: Mapping[str, Mapping[str, object]]) -> str:
    """Return a button for each way to look at a figure.

    Args:
        figure: The name of the figure.
        views: What each button changes of the figure, by its text.
    """
    pressings = chain(["true"], repeat("false"))  # the first view is the one drawn
    buttons = [
        f'<button type="button" data-figure="figure-{figure}" aria-pressed="{pressed}"'
        f' data-change="{escape(json.dumps(change))}">{name}</button>'
        for (name, change), pressed in zip(views.items(), pressings, strict=False)
    ]
    return f'<div class="views">{"".join(buttons)}</div>' if buttons else ""


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    wide: Sequence[int] = (),
    kind: str = "scroll",
) -> str:
    """Return a table of cells that are HTML already; only those of wide columns break lines.

    Cells are HTML already.

    Args:
        head: The names of the columns.
        rows: The cells of each row.
        wide: The positions of columns whose cells break lines.
        kind: "scroll", or "scroll stacked" for one column where there is little room.
    """
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="wide">{cell}</td>' if i in wide else f"<td>{cell}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    top = "<tr>" + "".join(f"<th>{name}</th>" for name in head) + "</tr>" if head else ""
    return f'<div class="{kind}"><table>{top}{body}</table></div>'
