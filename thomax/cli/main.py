"""The command `thomax`: finds the command that was typed, and turns mistakes into one sentence.

Exit codes: 0 done, 1 a run without a single successful trial, 2 a mistake of the user's,
3 another process holds the journal, 130 stopped by Ctrl-C or a signal.
"""

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NoReturn

import thomax
from thomax.cli import COMMANDS
from thomax.cli.texts import harmless
from thomax.storage.locks import JournalInUseError
from thomax.support.spelling import nearest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: The words after `thomax`; by default those of the process.
    """
    code = 0
    with _plain_warnings():
        try:
            options = parse(sys.argv[1:] if arguments is None else arguments)
            code = options.act(options) or 0
            if sys.stdout is not None:  # closed by the caller
                sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as `head`, has seen enough
            for stream in (sys.stdout, sys.stderr):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (ValueError, ImportError, OSError, RuntimeError, ArithmeticError) as error:
            print(f"thomax: {_one_line(error)}", file=sys.stderr)
            return 3 if isinstance(error, JournalInUseError) else 2
        except KeyboardInterrupt:
            print("thomax: stopped; the same command goes on from here", file=sys.stderr)
            return 130
    return code


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options, with `act` to be called on them, or exit with the user's mistake.

    Args:
        arguments: The words after `thomax`.
    """
    typed = next((word for word in arguments if not word.startswith("-")), None)
    parser = _Parser(
        prog="thomax", description="Batch neural Thompson sampling for expensive black boxes."
    )
    version = f"thomax {thomax.__version__}"
    parser.add_argument("--version", action="version", version=version)
    if typed is not None and typed not in COMMANDS:
        parser.error(f"there is no command {typed!r}: {nearest(typed, COMMANDS)}")
    commands = parser.add_subparsers(dest="area", required=True, metavar="COMMAND")
    for name, (module, what) in COMMANDS.items():
        own = commands.add_parser(
            name, help=what, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == typed:
            import_module(module).add_arguments(own)
    found = argparse.Namespace()
    if typed == "run":
        # What follows the -- is another program's: argparse must not look at it.
        end = arguments.index("--") if "--" in arguments else len(arguments)
        found.program, arguments = [*arguments[end + 1 :]], arguments[:end]
    options, unknown = parser.parse_known_args(arguments, found)
    if unknown:
        chosen = commands.choices[typed] if typed else parser
        chosen.error(f"unrecognized arguments: {' '.join(unknown)}{_hint(chosen, unknown[0])}")
    return options


def _hint(parser: argparse.ArgumentParser, word: str) -> str:
    """Return which flag may have been meant."""
    flag = word.partition("=")[0]
    known = [name for action in parser._actions for name in action.option_strings]
    hint = nearest(flag, known) if flag.startswith("--") else ""
    if hint.startswith("did"):
        return f": {hint}"
    return " (put the program after --)" if parser.prog == "thomax run" else ""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with what is wrong in one line, without the usage."""
        self.exit(2, f"thomax: {_one_line(message)}; see {self.prog} --help\n")


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings as sentences, without the line of code that they came from."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: print(
            f"thomax: {_one_line(message)}", file=sys.stderr
        )
        yield


def _one_line(message: object) -> str:
    return harmless(" ".join(str(message).split()))
