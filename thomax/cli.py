"""The command `thomax`: what it can do, and where that is."""

import argparse
from collections.abc import Sequence

from thomax.bench import command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="thomax", description="Batch neural Thompson sampling for expensive black boxes."
    )
    areas = parser.add_subparsers(dest="area", required=True)
    bench = areas.add_parser("bench", help="the paper's experiments and their claims")
    command.add_arguments(bench)
    return command.act(parser.parse_args(arguments))
