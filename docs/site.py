"""Hooks of the site: figures beside the results they show, and the options of every command."""

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from thomax.cli import COMMANDS

ROOT = Path(__file__).parent.parent
FIGURES = "benchmarks/results"
PAGES = ("CODE_OF_CONDUCT.md", "SECURITY.md")  # that CONTRIBUTING.md links to
COMMANDS_HERE = "<!-- commands -->"
_PLAIN = {  # arguments that need no help on the command line
    "journal": "the journal of the search",
    "numbers": "the numbers of the trials",
    "space": "the space file",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the figures of the results, and pages of the root, to the site."""
    figures = sorted((ROOT / FIGURES).rglob("*.svg"))
    for name in (*(path.relative_to(ROOT).as_posix() for path in figures), *PAGES):
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point links at the copies of the figures, and list the commands where they belong."""
    markdown = markdown.replace("](../../benchmarks/", "](../benchmarks/")
    return markdown.replace(COMMANDS_HERE, "\n".join(_command(name) for name in COMMANDS))


def _command(name: str) -> str:
    """Return a section with the usage and a table of the arguments of a command."""
    module, what = COMMANDS[name]
    parser = argparse.ArgumentParser(prog=f"thomax {name}")
    import_module(module).add_arguments(parser)
    usage = parser.format_usage().removeprefix("usage: ").strip()
    lines = [f"## thomax {name}", "", f"{what[0].upper()}{what[1:]}.", ""]
    lines += ["```text", usage, "```", "", "| argument | meaning |", "|---|---|"]
    shown = [a for a in parser._actions if a.dest != "help" and a.help != argparse.SUPPRESS]
    lines += [_row(parser, action) for action in shown]
    return "\n".join([*lines, ""])


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    words = " ".join([", ".join(action.option_strings), _value(action)]).strip()
    if action.help is None:
        shown = _PLAIN[action.dest]
    else:
        shown = parser._get_formatter()._expand_help(action).replace("|", "\\|")
    return f"| `{words}` | {shown[0].upper()}{shown[1:]} |"


def _value(action: argparse.Action) -> str:
    """Return what stands for the argument's value, nothing for a flag."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    if action.metavar is not None:
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(str(choice) for choice in action.choices) + "}"
    return action.dest.upper() if action.option_strings else action.dest
