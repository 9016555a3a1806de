"""`thomax repair`: keep every intact record of a damaged journal."""

import argparse
from pathlib import Path

from thomax.salvage import repair

EXAMPLES = """examples:
  thomax repair search.jsonl
  thomax repair search.jsonl --space space.toml --seed 0   (the first line is lost)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `thomax repair`."""
    parser.description, parser.epilog = "Rewrite a damaged journal from what is intact.", EXAMPLES
    parser.add_argument("journal", type=Path, metavar="JOURNAL")
    parser.add_argument(
        "--space", type=Path, metavar="SPACE.toml", help="the space, if the first line is lost"
    )
    parser.add_argument("--seed", type=int, help="the seed, if the first line is lost")
    parser.set_defaults(act=_repair)


def _repair(options: argparse.Namespace) -> None:
    path = options.journal.resolve()
    if not path.is_file():
        raise ValueError(f"The journal {options.journal} needs to be a file, got none.")
    copies = set(path.parent.glob(f"{path.name}.damaged-*"))
    kept, dropped = repair(path, _header(options.space, options.seed))
    new = set(path.parent.glob(f"{path.name}.damaged-*")) - copies
    if not new:
        print(f"{options.journal} is sound: its {kept} records were left as they are")
        return
    print(f"{options.journal}: kept {kept} records, dropped {dropped} broken pieces or copies")
    print(f"the damaged file is {new.pop()}")


def _header(space_path: Path | None, seed: int | None) -> dict[str, object] | None:
    if space_path is None:
        return None
    from thomax.commands.spacefile import read_space_file

    file = read_space_file(space_path)
    seed = file.settings.get("seed") if seed is None else seed
    if seed is None:
        raise ValueError(f"A lost first line needs the seed, got none in {space_path}: --seed N.")
    direction = file.settings.get("direction", "maximize")
    return {"space": file.space.describe(), "direction": direction, "seed": seed}
