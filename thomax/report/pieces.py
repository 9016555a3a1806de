"""Pieces of HTML: what sections are put together from. Every text is escaped here or before."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain, repeat
from typing import Any

from thomax.journal import Trial
from thomax.report.text import readable_json, shown


class Sheet:
    """Collect sections and the figures that stand in them."""

    def __init__(self) -> None:
        self.sections: list[str] = []
        self.links: list[str] = []
        self.figures: dict[str, Any] = {}

    def add(self, name: str, title: str, how: str, *parts: str) -> None:
        """Append a section with a sentence on how to read it."""
        self.links.append(f'<a href="#{name}">{title}</a>')
        body = "\n".join(part for part in parts if part)
        self.sections.append(
            f'<section id="{name}"><h2>{title}</h2>\n<p class="how">{how}</p>\n{body}</section>'
        )

    def figure(self, name: str, figure: Any, height: int) -> str:
        """Keep a figure, and return the place where it will be drawn."""
        self.figures[f"figure-{name}"] = figure
        return f'<div class="figure" id="figure-{name}" style="height:{height}px"></div>'


def big(text: str) -> str:
    """Return a number that is seen first."""
    return f'<div class="big">{text}</div>'


def params_table(trial: Trial) -> str:
    """Return params below each other."""
    rows = [(escape(shown(name)), escape(shown(v))) for name, v in trial.params.items()]
    body = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
    return f'<table class="params">{body}</table>'


def params_json(trial: Trial) -> str:
    """Return params to copy."""
    return (
        f"<p>Trial {trial.number} as JSON; one click selects all:</p>"
        f"<pre>{escape(readable_json(trial.params))}</pre>"
    )


def inline(trial: Trial, longest: int = 300) -> str:
    """Return params in one line, not escaped yet."""
    return shown(", ".join(f"{n}={shown(v, 40)}" for n, v in trial.params.items()), longest)


def grid(places: Iterable[str]) -> str:
    """Return figures side by side, as many as there is room for."""
    return f'<div class="grid">{"".join(places)}</div>'


def view_buttons(figure: str, views: dict[str, Any]) -> str:
    """Return a button for each way to look at a figure."""
    pressings = chain(["true"], repeat("false"))  # the first view is the one drawn
    buttons = [
        f'<button type="button" data-figure="figure-{figure}" aria-pressed="{pressed}"'
        f' data-change="{escape(json.dumps(change))}">{name}</button>'
        for (name, change), pressed in zip(views.items(), pressings, strict=False)
    ]
    return f'<div class="views">{"".join(buttons)}</div>' if buttons else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], wide: Sequence[int] = ()) -> str:
    """Return a table of cells that are HTML already; only those of wide columns break lines."""
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
    return f'<div class="scroll"><table>{top}{body}</table></div>'
