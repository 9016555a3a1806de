"""Journals as the commands find them: to look at, or to go on with."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from thomax.cli.numbers import seconds_flag
from thomax.storage.headers import missing_from, require_same_search, search_header
from thomax.storage.journal import read_header
from thomax.storage.locks import waiting
from thomax.storage.metrics import Metrics
from thomax.storage.records import Record
from thomax.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from thomax.optimizer import Optimizer
    from thomax.space.pool import Pool
    from thomax.space.space import Space


def read_search(path: Path) -> Snapshot:
    """Return the state of a search, whoever else is writing to its journal.

    Args:
        path: The journal.
    """
    _require_file(path)
    return Snapshot.read(path)


def metrics_of(path: Path) -> Metrics:
    """Return what a search measures, without reading all of its journal.

    Args:
        path: The journal.
    """
    _require_file(path)
    return search_header(path, read_header(path)).metrics


def add_shared(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that take their turn at a journal.

    Args:
        parser: The parser of the command.
    """
    parser.add_argument(
        "--space", type=Path, metavar="SPACE.toml", help="the space, if the journal lacks it"
    )
    parser.add_argument(
        "--wait", type=seconds_flag, default=60.0, metavar="SECONDS",
        help="how long to wait for other commands that use the journal (default 60)",
    )  # fmt: skip


def opened_in_turn(make: "Callable[[], Optimizer]", seconds: float) -> "Optimizer":
    """Open a journal as soon as nobody else holds it: jobs of a queue may end together.

    Args:
        make: Opens the journal, or raises an error if it is in use.
        seconds: How long to wait for others.
    """
    with waiting(seconds):
        return make()


def open_new(
    path: Path, space: Path, check: "Callable[[Space | Pool, Metrics], None] | None" = None
) -> "Optimizer":
    """Open a journal with the space of a file, or create it, unless the check refuses the space.

    Args:
        path: The journal.
        space: The space file.
        check: Called with the space and what is measured before anything is created.
    """
    from thomax.cli.spacefile import read_space_file  # here: looking at a journal needs no JAX
    from thomax.optimizer import Optimizer

    file = read_space_file(space)
    if check is not None:
        check(file.space, file.metrics)
    return Optimizer(
        file.space,
        **file.metrics.options(),
        seed=file.settings.get("seed"),
        initial=file.settings.get("initial"),
        journal=path,
    )


def open_again(path: Path, space: Path | None = None) -> "Optimizer":
    """Open a journal that exists, with the space of a file or the one in the journal's header.

    Args:
        path: The journal.
        space: The space file. The header of a pool has no candidates: for run.jsonl they come
            from run.toml beside it, if there is one.
    """
    from thomax.optimizer import Optimizer
    from thomax.space.space import Space

    _require_file(path)
    description = search_header(path, read_header(path)).space
    beside = path.with_suffix(".toml")
    if space is None and description.get("kind") == "pool" and beside.is_file():
        space = beside
    if space is not None:
        return open_new(path, space)
    # Described, a space has labels for objects, which a command line could not write anyway.
    if (missing := missing_from(description, with_objects=False)) is not None:
        is_pool = description.get("kind") == "pool"  # a space file holds no constraint
        advice = "give --space SPACE.toml with the pool, or " if is_pool else ""
        raise ValueError(
            f"{path} needs to describe its space in full, got a journal that does not hold "
            f"{missing[0]}: {advice}go on with it from Python."
        )
    return Optimizer.open(path, space=Space.from_description(description))


def space_of(snapshot: Snapshot, path: Path, space: Path | None) -> "Space | Pool":
    """Return the space of a search that is only looked at.

    Args:
        snapshot: The search.
        path: The journal.
        space: The space file; for the pool of run.jsonl by default run.toml beside it.
    """
    from thomax.cli.spacefile import read_space_file

    beside = path.with_suffix(".toml")
    if space is None and snapshot.space is None and beside.is_file():
        space = beside
    if space is None:
        if snapshot.space is None:
            raise ValueError(
                f"{path} needs to describe its space in full, got a journal that does not hold "
                "the candidates of a pool: give --space SPACE.toml with the pool."
            )
        return snapshot.space
    found = read_space_file(space).space
    described: Record = {"space": found.describe()}
    require_same_search(path, {"space": snapshot.description}, described)
    return found


def _require_file(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"A journal needs to be a file, got the folder {path}.")
    if path.suffix == ".toml" and path.exists():
        journal = path.with_suffix(".jsonl")
        raise ValueError(
            f"This command needs a journal, got the space file {path}: give a journal, such as "
            f"{journal}; `thomax suggest {journal} --space {path}` creates one."
        )
    if not path.exists():
        raise ValueError(
            f"The journal {path} does not exist: "
            "`thomax run` and `thomax suggest --space` create one."
        )
