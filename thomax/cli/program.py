"""The user's program: how the params of a trial reach it.

Three ways, none of which involves a shell:
    placeholders  `{name}` in an argument is the value of that parameter
    flags         without placeholders, `--name value` is appended
    environment   THOMAX_NAME, if asked for; THOMAX_PARAMS has all of them as JSON in any case

An inactive parameter is left out, and takes the flag in front of its placeholder with it.
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from thomax.cli.texts import as_text
from thomax.support.spelling import nearest
from thomax.support.types import ParamsLike

NUMBER = "trial"  # {trial} is the number of the trial
_OURS = ("THOMAX_PARAMS", "THOMAX_TRIAL", "THOMAX_OUTPUT_FILE", "THOMAX_CACHE")
_BRACES = re.compile(r"\{([^{}]+)\}")
_LONELY = re.compile(r"([^{}]*=)?\{([^{}]+)\}")  # nothing but a placeholder, or name=placeholder
_FLAG = re.compile(r"-[^={}]*")  # a flag whose value is the next argument


@dataclass(frozen=True)
class Program:
    """A program and its arguments, to be completed with the params of a trial.

    Args:
        arguments: The program and its arguments, which may hold placeholders.
        names: The names of all parameters.
        by_environment: Whether params are passed as environment variables, not as flags.

    Examples:
        >>> Program(("python", "train.py"), ("lr", "act")).command({"lr": 0.1, "act": "relu"}, 0)
        ['python', 'train.py', '--lr', '0.1', '--act', 'relu']
        >>> Program(("train", "lr={lr}"), ("lr", "act")).command({"lr": 0.1, "act": "relu"}, 0)
        ['train', 'lr=0.1']
    """

    arguments: tuple[str, ...]
    names: tuple[str, ...]
    by_environment: bool = False

    def __post_init__(self) -> None:
        self._check_placeholders()
        if self.by_environment:
            _check_variables(self.names)

    def command(self, params: ParamsLike, number: int) -> list[str]:
        """Return the argument list of a trial.

        Args:
            params: The point of the trial.
            number: The number of the trial.
        """
        texts = {name: as_text(value) for name, value in params.items()}
        known = {NUMBER: str(number), **dict.fromkeys(self.names, ""), **texts}
        filled: list[str] = []
        for before, argument in pairwise(("", *self.arguments)):
            lonely = _LONELY.fullmatch(argument)
            if lonely and lonely[2] in self.names and lonely[2] not in params:
                if lonely[1]:
                    continue
                if _FLAG.fullmatch(before):
                    filled.pop()
                    continue
            # One pass: braces inside a value are the value's own.
            filled.append(_BRACES.sub(lambda m: known.get(m[1], m[0]), argument))
        if self._has_placeholders or self.by_environment:
            return filled
        return filled + [word for item in texts.items() for word in _flag(*item)]

    def environment(self, params: ParamsLike, number: int) -> dict[str, str]:
        """Return the variables that a trial's program finds.

        Args:
            params: The point of the trial.
            number: The number of the trial.
        """
        found = {"THOMAX_PARAMS": json.dumps(params), "THOMAX_TRIAL": str(number)}
        if self.by_environment:
            found |= {variable(name): as_text(value) for name, value in params.items()}
        return found

    def line(self, params: ParamsLike, number: int) -> str:
        """Return what to paste into a shell to evaluate a trial again.

        Args:
            params: The point of the trial.
            number: The number of the trial.
        """
        command = " ".join(map(_quoted, self.command(params, number)))
        if not self.by_environment:
            return command
        values = [f"{variable(n)}={_quoted(as_text(v))}" for n, v in params.items()]
        return " ".join(["env", *values, command])

    @property
    def variables(self) -> set[str]:
        """Variables of the parameters, which a trial must not inherit from anybody else."""
        return {variable(name) for name in self.names} if self.by_environment else set()

    @cached_property
    def _has_placeholders(self) -> bool:
        return any(m in self.names for a in self.arguments for m in _BRACES.findall(a))

    def _check_placeholders(self) -> None:
        known = [*self.names, NUMBER]
        for found in (m for a in self.arguments for m in _BRACES.findall(a)):
            if found == NUMBER and NUMBER in self.names:
                raise ValueError(
                    "The placeholder {trial} needs to be unambiguous, got a parameter of that "
                    "name: rename the parameter."
                )
            hint = nearest(found, known)
            if found not in known and hint.startswith("did"):
                raise ValueError(f"The placeholder {{{found}}} is no parameter: {hint}")


def require_program(arguments: Sequence[str]) -> None:
    """Refuse a program that cannot be started.

    Args:
        arguments: The program and its arguments.
    """
    if not arguments:
        raise ValueError(
            "A run needs a program after --, got none: thomax run space.toml -- python train.py"
        )
    first = arguments[0]
    if not _BRACES.search(first) and shutil.which(first) is None:
        raise ValueError(f"The program needs to exist and be executable, got {first!r}.")


def variable(name: str) -> str:
    """Return the environment variable of a parameter.

    Args:
        name: The parameter.

    Examples:
        >>> variable("max-depth")
        'THOMAX_MAX_DEPTH'
    """
    return "THOMAX_" + re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def _quoted(word: str) -> str:
    """Quote a word for a shell, with nothing in it that does something to the terminal."""
    if word.replace("\n", "").isprintable():
        return shlex.quote(word)
    octal = "".join(
        c if c.isprintable() and c not in "'\\" else "".join(f"\\{b:03o}" for b in os.fsencode(c))
        for c in word
    )
    return f"$'{octal}'"


def _flag(name: str, text: str) -> list[str]:
    # Most programs would take a separate -1e-05 for a flag.
    return [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]


def _check_variables(names: Sequence[str]) -> None:
    taken = dict.fromkeys(_OURS, "thomax itself")
    for name in names:
        if (own := variable(name)) in taken:
            raise ValueError(
                f"The parameter {name!r} needs an environment variable of its own, got {own}, "
                f"which {taken[own]} uses: rename it, or leave out --as env."
            )
        taken[own] = repr(name)
