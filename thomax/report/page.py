"""The page of a report: one file, nothing loaded from elsewhere, every text escaped.

The page may only run the two scripts whose checksums its security policy names: whatever a
hostile name or error text smuggles in is not executed.
"""

import base64
import hashlib
from html import escape
from importlib.resources import files

from thomax.report.content import Content
from thomax.report.pieces import Sheet
from thomax.report.sections import SECTIONS
from thomax.report.text import script_json, shown
from thomax.storage.snapshot import Snapshot

_FILES = ("style.css", "script.js")
_ENDED = ("complete", "failed", "dropped", "retracted")


def render(content: Content, plotly: str, refresh: int | None = None) -> str:
    """Return the page as text, with plotly.js inside.

    Args:
        content: What the report says.
        plotly: The source of plotly.js.
        refresh: After how many seconds the page loads itself again; never if it is None.
    """
    sheet = Sheet()
    for add in SECTIONS:
        add(sheet, content)
    style, script = (files("thomax.report").joinpath(f).read_text("utf-8") for f in _FILES)
    reload = "" if refresh is None else f'<meta http-equiv="refresh" content="{refresh}">'
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_security_policy(plotly, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
{reload}
<title>{escape(content.snapshot.name)} – thomax</title>
<style>{style}</style>
</head>
<body>
{_header(content)}
<nav><div>{"".join(sheet.links)}</div></nav>
<main>
<noscript><p class="note">The figures need JavaScript; the tables do not.</p></noscript>
{"".join(sheet.sections)}
</main>
<footer>Written by thomax. This file is complete: it loads nothing from the network.</footer>
<script type="application/json" id="figures">{script_json(sheet.figures)}</script>
<script>{plotly}</script>
<script>{script}</script>
</body>
</html>
"""


def _security_policy(*scripts: str) -> str:
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _aims(snapshot: Snapshot) -> list[str]:
    """Return what is searched for: objectives and limits."""
    words = {"maximize": "maximise", "minimize": "minimise"}
    metrics = snapshot.metrics
    aims = [
        f"{words[direction]} {name}" if metrics.is_named else words[direction]
        for name, direction in metrics.objectives.items()
    ]
    return [
        escape(shown(aim)) for aim in [*aims, *(f"{n} {b}" for n, b in metrics.limits.items())]
    ]


def _header(content: Content) -> str:
    snapshot = content.snapshot
    counts = [f"{content.counts[s]} {s}" for s in _ENDED if content.counts.get(s)]
    facts = [
        *_aims(snapshot),
        "1 trial" if len(snapshot.trials) == 1 else f"{len(snapshot.trials)} trials",
        *counts,
    ]
    items = [f"<li>{fact}</li>" for fact in facts]
    if pending := content.counts.get("pending"):
        items.append(f'<li class="running">still running: {pending} pending</li>')
    items.append(f"<li>written {content.written:%Y-%m-%d %H:%M:%S %Z}</li>")
    title = f"<h1>{escape(snapshot.name)}</h1>"
    return f'<header>{title}\n<ul class="facts">{"".join(items)}</ul></header>'
