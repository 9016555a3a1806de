"""`thomax report`: a journal as a page to look at, once or while it is being written."""

import argparse
from pathlib import Path

from thomax.cli.journals import read_search
from thomax.cli.numbers import seconds_flag
from thomax.cli.texts import say
from thomax.report import follow, write_report

EXAMPLES = """examples:
  thomax report search.jsonl
  thomax report search.jsonl --output search.html --follow 30"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax report`.

    Args:
        parser: The parser of the command.
    """
    parser.description, parser.epilog = "Write one HTML page that opens offline.", EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "--output", type=Path, metavar="PATH", help="the page (default: JOURNAL with .html)"
    )
    parser.add_argument(
        "--follow",
        type=seconds_flag,
        metavar="SECONDS",
        help="update the page so often if the journal has grown, until Ctrl-C",
    )
    parser.set_defaults(act=report)


def report(options: argparse.Namespace) -> None:
    """Write the page, and say where it is.

    Args:
        options: What was typed.
    """
    output = options.output or options.journal.with_suffix(".html")
    if output.is_dir():
        raise ValueError(f"--output needs the path of a file, got the folder {output}.")
    if options.follow is None:
        read_search(options.journal)
        say(f"wrote {write_report(options.journal, output)}")
        return
    say(f"writing {output} whenever {options.journal} grows; stop with Ctrl-C")
    follow(options.journal, output, every=options.follow)
