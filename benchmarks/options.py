"""Options that all commands which compare methods have in common."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path


def add_comparison(
    parser: argparse.ArgumentParser,
    positive: Callable[[str], int],
    *,
    methods: str,
    batches: str,
    seeds: str,
    folder: str,
    quick: str,
) -> None:
    """Add the options of a command that runs what is missing and compares.

    Args:
        parser: The command's.
        positive: Reads a whole number > 0.
        methods: What the help says of --methods.
        batches: The sizes of batches without --batch.
        seeds: How many seeds there are without --seeds.
        folder: Where results are without --folder.
        quick: What --quick runs.
    """
    add = parser.add_argument
    add("--tasks", nargs="+", metavar="TASK", help="some of the tasks")
    add("--methods", nargs="+", metavar="METHOD", help=methods)
    add("--batch", nargs="+", type=positive, metavar="N", help=f"sizes (default {batches})")
    add("--seeds", type=positive, help=f"how many, from 0 on (default {seeds})")
    add("--workers", type=positive, default=1, help="processes (default 1)")
    add("--folder", type=Path, help=f"where results are (default {folder})")
    add("--quick", action="store_true", help=quick)
    add("--no-progress", action="store_true")


def first_is_compared(methods: Sequence[str]) -> str:
    """Return the help of --methods where one of them is compared with the others."""
    return f"the first is compared with the others (default {' '.join(methods)})"
