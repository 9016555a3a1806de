"""The reference says what every argument of a public name is for, and names no other."""

import importlib
import inspect
import re

import pytest

import thomax
from thomax.model.kernels import Kernel
from thomax.model.networks import Network

INTEGRATIONS = {
    "optuna": ["ThomaxSampler"],
    "optuna_studies": ["from_study", "to_study"],
    "ray": ["ThomaxSearch"],
    "sklearn": ["ThomaxSearchCV"],
}


def public_names():
    """Yield the integration, or None, and the name; two have attributes, not arguments."""
    yield from ((None, name) for name in thomax.__all__ if name not in {"Policy", "StopReason"})
    for module, names in INTEGRATIONS.items():
        yield from ((module, name) for name in names)


def wanted_arguments(item):
    """Return the arguments as a user passes them."""
    kinds = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(item).parameters.values()
    return [
        kinds.get(p.kind, "") + p.name
        for p in parameters
        if p.name not in ("self", "cls") and not p.name.startswith("_")
    ]


def described_arguments(item):
    """Return the names in the section `Args:` of a docstring, in their order."""
    text = inspect.getdoc(item) or ""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)+)", text + "\n", re.MULTILINE)
    return re.findall(r"^    (\*{0,2}\w+): \S", section[1], re.MULTILINE) if section else []


def own_methods(item):
    """Return what a class offers itself: not what it inherits, nor what Python calls."""
    found = {name: member for name, member in vars(item).items() if not name.startswith("_")}
    methods = {name: getattr(m, "__func__", m) for name, m in found.items()}
    return {name: m for name, m in methods.items() if inspect.isfunction(m)}


@pytest.mark.parametrize(("module", "name"), [*public_names()], ids=str)
def test_every_argument_of_a_public_name_is_described(module, name):
    if module in ("ray", "sklearn"):
        pytest.importorskip(module)
    home = thomax if module is None else importlib.import_module(f"thomax.integrations.{module}")
    item = getattr(home, name)
    assert described_arguments(item) == wanted_arguments(item)
    for method, function in own_methods(item).items() if inspect.isclass(item) else ():
        described = described_arguments(function) or described_arguments(
            next((vars(p)[method] for p in (Network, Kernel) if method in vars(p)), function)
        )
        assert described == wanted_arguments(function), method


def test_a_docstring_that_leaves_out_an_argument_is_noticed():
    def function(first, *rest, **options):
        """Do something.

        Args:
            first: The first one.
            **options: The
                others: all of them.

        Examples:
            >>> None
        """

    assert wanted_arguments(function) == ["first", "*rest", "**options"]
    assert described_arguments(function) == ["first", "**options"]
