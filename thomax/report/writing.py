"""Write the page to a file, once or whenever the journal has grown."""

import contextlib
import os
import time
from pathlib import Path
from typing import Protocol, runtime_checkable

from thomax.report.content import gather
from thomax.report.page import render
from thomax.storage.snapshot import Snapshot
from thomax.support.checks import is_whole

_LONGEST_WAIT = 86_400  # seconds


@runtime_checkable
class Searched(Protocol):
    """What a report needs of an optimiser."""

    def snapshot(self) -> Snapshot:
        """Return the search as it stands."""


def write_report(
    source: Searched | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    refresh: int | None = None,
) -> Path:
    """Write one self-contained HTML page about a search, and return where it is.

    A journal knows neither the policy nor the candidates of a pool: the model is then the default
    one, or missing.

    Args:
        source: An Optimizer, or the path of a journal, which may still be written to.
        path: The file to write.
        refresh: After how many seconds the page loads itself again; never if it is None.

    Examples:
        >>> import tempfile
        >>> from thomax import Float, maximize
        >>> found = maximize(
        ...     lambda p: -abs(p["x"]), {"x": Float(-1, 1)}, trials=5, seed=0, progress=False
        ... )
        >>> write_report(found, tempfile.mkdtemp() + "/report.html").name
        'report.html'
    """
    if refresh is not None and not is_whole(refresh, 1):
        raise ValueError(f"refresh needs a whole number of seconds >= 1 or None, got {refresh!r}.")
    plotly, target, snapshot = _plotly_source(), Path(path), snapshot_of(source)
    if snapshot.journal is not None and target.exists() and target.samefile(snapshot.journal):
        raise ValueError(
            f"A report needs a file of its own, got the journal {snapshot.journal}: "
            "give another path."
        )
    _put(target, render(gather(snapshot), plotly, refresh))
    return target


def snapshot_of(source: Searched | str | os.PathLike[str]) -> Snapshot:
    """Return the state of an optimiser, or of what a journal holds now.

    Args:
        source: An Optimizer, or the path of a journal.
    """
    if isinstance(source, str | os.PathLike):
        return Snapshot.read(source)
    if not isinstance(source, Searched):
        raise TypeError(
            f"A report needs an Optimizer or the path of a journal, got {type(source).__name__}."
        )
    return source.snapshot()


def follow(
    source: str | os.PathLike[str], path: str | os.PathLike[str], every: float = 10.0
) -> None:
    """Write the report of a journal again whenever it has changed, until interrupted.

    Args:
        source: The journal, which need not exist yet.
        path: The file to write.
        every: Seconds between two looks at the journal; the page loads itself again as often.
    """
    if not 0 < every < _LONGEST_WAIT:
        raise ValueError(f"follow needs 0 < every < {_LONGEST_WAIT} seconds, got {every!r}.")
    journal, seen = Path(source), None
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            state = _state(journal)
            if state not in (None, seen):
                write_report(journal, path, refresh=max(1, round(every)))
                seen = state
            time.sleep(every)


def _state(journal: Path) -> tuple[int, int] | None:
    """Return what changes when the journal does, or None as long as it is empty or absent."""
    try:
        found = journal.stat()
    except FileNotFoundError:
        return None
    return (found.st_mtime_ns, found.st_size) if found.st_size else None


def _plotly_source() -> str:
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped,import-not-found]
    except ImportError as error:
        raise ImportError("A report needs plotly: pip install thomax[report]") from error
    return str(get_plotlyjs())


def _put(target: Path, text: str) -> None:
    """Replace the file in one step: a browser that reloads never sees half a page."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(text.encode("utf-8", "replace"))  # half a surrogate pair has no encoding
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
