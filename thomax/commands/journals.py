"""Journals as the commands find them: to look at, or to go on with."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from thomax.journal import Journal
from thomax.locks import waiting

if TYPE_CHECKING:
    from thomax.optimizer import Optimizer


def read_journal(path: Path) -> Journal:
    """Return a snapshot of a search's journal, whoever else is writing to it."""
    if path.is_dir():
        raise ValueError(f"A journal needs to be a file, got the folder {path}.")
    if not path.exists():
        raise ValueError(
            f"The journal {path} does not exist: "
            "`thomax run` and `thomax suggest --space` create one."
        )
    journal = Journal.read(path)
    header = journal.header
    if header.get("direction") not in ("maximize", "minimize") or not isinstance(
        header.get("space"), dict
    ):
        raise ValueError(f"{path} needs to be the journal of an Optimizer, got another one's.")
    return journal


def add_wait(parser: argparse.ArgumentParser) -> None:
    """Add the option of commands that take their turn."""
    parser.add_argument(
        "--wait", type=float, default=60.0, metavar="SECONDS",
        help="for other commands that use the journal (default 60)",
    )  # fmt: skip


def opened_in_turn(make: "Callable[[], Optimizer]", seconds: float) -> "Optimizer":
    """Open a journal as soon as nobody else holds it: jobs of a queue may end together."""
    with waiting(seconds):
        return make()


def open_again(path: Path) -> "Optimizer":
    """Open a journal with the space that its header describes."""
    from thomax.optimizer import Optimizer  # here, because looking at a journal needs no JAX

    header = read_journal(path).header
    if header["space"].get("kind") != "space" or header["space"].get("constraint"):
        raise ValueError(
            f"{path} needs a space that its header describes in full, got one with a pool or a "
            "constraint function: go on with it from Python."
        )
    return Optimizer.open(path)
