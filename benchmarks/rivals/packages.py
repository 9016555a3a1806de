"""The packages behind rivals: whether they are installed, and their versions."""

from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec

from benchmarks.tasks.problem import MissingPackageError


def require_packages(name: str, packages: Sequence[str]) -> None:
    """Say in one sentence which package of a rival is missing.

    Args:
        name: Of the rival.
        packages: What it needs.
    """
    for package in packages:
        if find_spec(package) is None:
            raise MissingPackageError(
                f"The method {name} needs {package}: pip install 'thomax[rivals]'"
            )


def version(packages: Sequence[str]) -> str:
    """Return the package behind a rival, its first one, with the installed version."""
    return f"{packages[0]} {metadata.version(packages[0])}"
