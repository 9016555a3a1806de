"""`python -m benchmarks.metrics`: compare methods on several objectives, or with limits."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process on each core

import argparse
import sys
from collections.abc import Sequence

from benchmarks.command import act
from benchmarks.metrics.command import add_arguments


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"needs a whole number >= 1, got {text!r}")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m benchmarks.metrics`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.metrics", description=__doc__)
    add_arguments(parser, _positive)
    return act(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
