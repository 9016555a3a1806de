"""`thomax repair`: keep every intact record of a damaged journal."""

import argparse
from pathlib import Path

from thomax.cli.numbers import whole_flag
from thomax.cli.texts import say
from thomax.storage.records import Record
from thomax.storage.repair import repair

EXAMPLES = """examples:
  thomax repair search.jsonl
  thomax repair search.jsonl --space space.toml --seed 0 --minimize   (the first line is lost)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax repair`.

    Args:
        parser: The parser of the command.
    """
    parser.description, parser.epilog = "Rewrite a damaged journal from what is intact.", EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "--space", type=Path, metavar="SPACE.toml", help="the space, if the first line is lost"
    )
    parser.add_argument("--seed", type=whole_flag, help="the seed, if the first line is lost")
    direction = parser.add_mutually_exclusive_group()
    for word in ("minimize", "maximize"):
        direction.add_argument(
            f"--{word}", dest="direction", action="store_const", const=word,
            help="the direction, if the first line is lost",
        )  # fmt: skip
    parser.set_defaults(act=_repair)


def _repair(options: argparse.Namespace) -> None:
    path = options.journal.resolve()
    if not path.is_file():
        raise ValueError(f"The journal {options.journal} needs to be a file, got none.")
    copies = set(path.parent.glob(f"{path.name}.damaged-*"))
    kept, dropped = repair(path, _header(options))
    new = set(path.parent.glob(f"{path.name}.damaged-*")) - copies
    if not new:
        say(f"{options.journal} is sound: its {kept} records were left as they are")
        return
    say(f"{options.journal}: kept {kept} records, dropped {dropped} broken pieces or copies")
    say(f"the damaged file is {new.pop()}")


def _header(options: argparse.Namespace) -> Record | None:
    """Return what the lost first line said: flags before the space file."""
    given = {name: getattr(options, name) for name in ("seed", "direction")}
    if options.space is None:
        if found := [f"--{name}" for name, value in given.items() if value is not None]:
            raise ValueError(f"A lost first line needs --space SPACE.toml beside {found[0]}.")
        return None
    from thomax.cli.spacefile import read_space_file

    file = read_space_file(options.space)
    for name, flag in (("seed", "--seed N"), ("direction", "--minimize or --maximize")):
        given[name] = file.settings.get(name) if given[name] is None else given[name]
        if given[name] is None:
            raise ValueError(
                f"A lost first line needs the {name}, got none in {options.space}: {flag}."
            )
    return {
        "space": file.space.describe(), "direction": given["direction"], "seed": given["seed"],
    }  # fmt: skip
