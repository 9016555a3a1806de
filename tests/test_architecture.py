"""Imports point down only, and numerics stay free of the loop's concerns."""

import ast
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import thomax

PACKAGE = Path(__file__).parent.parent / "thomax"
LEVELS = [
    {"keys", "support"},
    {"model", "theory"},
    {"policies", "space"},
    {
        "initial_design",
        "metric_scores",
        "prediction",
        "recommendation",
        "search",
        "storage",
        "suggest",
    },
    {"optimizer", "proposals", "report", "running", "shortcuts"},
    {"integrations"},
    {"cli", "__main__"},
]
NUMERICS = {"keys", "model", "theory"}
FORBIDDEN_BELOW = {"json", "logging", "pathlib"}
FILES = sorted(p.relative_to(PACKAGE) for p in PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def level_of(module: str) -> int:
    return next(i for i, names in enumerate(LEVELS) if module in names)


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def ours(path: Path) -> set[str]:
    """Return the dotted names below thomax that a file imports."""
    return {
        name.removeprefix("thomax.") for name in imports_of(path) if name.startswith("thomax.")
    }


INNER = [p for p in FILES if p.name != "__init__.py"]


@pytest.mark.parametrize("path", INNER, ids=str)
def test_imports_point_down(path):
    level = level_of(module_of(path))
    for name in ours(path):
        other = name.split(".")[0]
        if any(other in names for names in LEVELS):
            assert level_of(other) <= level, f"{path} imports thomax.{name}"


@pytest.mark.parametrize("path", [p for p in INNER if module_of(p) in NUMERICS], ids=str)
def test_numerics_know_neither_spaces_nor_files(path):
    assert not FORBIDDEN_BELOW & {name.split(".")[0] for name in imports_of(path)}


@pytest.mark.parametrize("path", [p for p in INNER if p.parts[0] == "policies"], ids=str)
def test_a_policy_file_stands_alone(path):
    names = ours(path)
    others = {n for n in names if n.startswith("policies.")}
    shared = {n for n in others if n.split(".")[1] in {"base", "prepared"}}
    assert others == shared, "a policy imports another policy"
    assert not {n for n in names if n.split(".")[0] in {"space", "storage", "optimizer"}}
    assert not FORBIDDEN_BELOW & {name.split(".")[0] for name in imports_of(path)}


@pytest.mark.parametrize("path", FILES, ids=str)
def test_nobody_reaches_into_jax_or_forward(path):
    for name in imports_of(path):
        assert not name.startswith(("jax._src", "jax.core", "jax.interpreters")), name
    if module_of(path) not in {"integrations", "cli", "__main__"}:
        assert not {n for n in ours(path) if n.split(".")[0] == "integrations"}


@pytest.mark.parametrize("path", [p for p in FILES if p.name != "user_warnings.py"], ids=str)
def test_nobody_counts_frames_for_warnings(path):
    text = (PACKAGE / path).read_text(encoding="utf-8")
    assert "warnings.warn" not in text
    assert "stacklevel" not in text


def test_every_module_has_a_level_and_there_is_no_cycle():
    graph: dict[str, set[str]] = {}
    for path in INNER:
        module = module_of(path)
        needs = {name.split(".")[0] for name in ours(path)} - {module}
        graph.setdefault(module, set()).update(needs)
    assert all(any(m in names for names in LEVELS) for m in graph)
    seen: list[str] = []
    while graph:
        free = [m for m, needs in graph.items() if not needs & graph.keys()]
        assert free, f"an import cycle among {sorted(graph)}"
        seen += free
        graph = {m: needs for m, needs in graph.items() if m not in free}
    assert seen


def test_every_public_name_is_imported_when_it_is_used_and_not_before():
    assert sorted(" ".join(thomax._HOMES.values()).split()) == sorted(thomax.__all__)
    assert all(getattr(thomax, name).__name__ for name in thomax.__all__ if name != "StopReason")
    assert dir(thomax) == sorted([*thomax.__all__, "__version__"])  # no internals
    assert thomax.__version__ == metadata.version("thomax")
    with pytest.raises(AttributeError, match="no attribute 'Optimiser'"):
        thomax.Optimiser  # noqa: B018
    for name in ("a.b", "space.pool", ".loop", ""):  # hasattr must say no
        assert not hasattr(thomax, name)
    code = "import sys, thomax; assert not {'jax', 'numpy'} & {*sys.modules}; thomax.Float(0, 1)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


WITHOUT_JAX = """
import sys
import thomax as tx

space = {"x": tx.Float(0, 1), "y": tx.Int(0, 9), "kind": tx.Categorical(["a", "b", "c"])}
for policy in (None, tx.STOBNTSLinear(), tx.STOBNTSLinear(tx.MLP(3, 32, "relu"))):
    optimizer = tx.Optimizer(space, policy, seed=0, initial=4)
    for trial in optimizer.ask(6):
        optimizer.tell(trial, float("nan") if trial.number == 2 else trial.params["x"])
    assert len(optimizer.ask(3)) == 3
    optimizer.recommend()
assert "jax" not in sys.modules
"""


def test_the_default_model_does_without_jax():
    assert subprocess.run([sys.executable, "-c", WITHOUT_JAX]).returncode == 0
