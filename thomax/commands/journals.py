"""Journals as the commands find them: to look at, or to go on with."""

from pathlib import Path
from typing import TYPE_CHECKING

from thomax.journal import Journal

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


def open_again(path: Path) -> "Optimizer":
    """Open a journal with the space that its header describes."""
    from thomax.optimizer import Optimizer  # here, because looking at a journal needs no JAX
    from thomax.spaces import Space

    header = read_journal(path).header
    if header["space"].get("kind") != "space" or header["space"].get("constraint"):
        raise ValueError(
            f"{path} needs a space that its header describes in full, got one with a pool or a "
            "constraint function: go on with it from Python."
        )
    space = Space.from_description(header["space"])
    return Optimizer(space, direction=header["direction"], journal=path)
