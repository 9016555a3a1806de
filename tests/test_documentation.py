"""What the documentation shows runs: README blocks, docstring examples, named tests."""

import doctest
import importlib
import importlib.util
import json
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import thomax
from benchmarks.compare.tables import name_of
from benchmarks.runner import records

ROOT = Path(__file__).parent.parent


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


BLOCKS = blocks(ROOT / "README.md")
PAGES = sorted(p.name for p in (ROOT / "docs").glob("*.md") if blocks(p))
MODULES = sorted(m.name for m in pkgutil.walk_packages(thomax.__path__, "thomax."))
OPTIONAL = ("ray", "dask")  # heavy: their blocks run where the packages are


def needs(package, block):
    return f"import {package}" in block or f"from {package}" in block


def title(block):
    tool = next((package for package in OPTIONAL if needs(package, block)), None)
    return tool or block.strip().splitlines()[-1][:40]


@pytest.mark.parametrize("block", BLOCKS, ids=title)
def test_a_code_block_of_the_readme_runs(block, tmp_path):
    for package in OPTIONAL:
        if needs(package, block) and importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; make test-integrations runs this")
    ours = not any(needs(package, block) for package in (*OPTIONAL, "sklearn", "optuna"))
    warnings = ["-W", "error"] if ours else []  # what others warn of is not ours to mend
    run = subprocess.run(
        [sys.executable, *warnings, "-c", block], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_code_blocks_of_a_page_run_one_after_the_other(page, tmp_path):
    code = "\n".join(blocks(ROOT / "docs" / page))
    warnings = ["-W", "error"] if not needs("optuna", code) else []
    run = subprocess.run(
        [sys.executable, *warnings, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.strip().splitlines()) >= code.count("print(") > 0


def test_the_site_lists_every_page():
    listed = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(p.name for p in (ROOT / "docs").glob("*.md"))


def test_the_first_screen_is_a_sentence_an_install_line_and_a_short_loop():
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.index("pip install") < text.index("```python") < 600
    assert len(BLOCKS[0].strip().splitlines()) <= 16


def test_the_mean_ranks_of_the_readme_are_those_that_were_measured():
    text = (ROOT / "README.md").read_text("utf-8")
    measured = json.loads((ROOT / "benchmarks/results/compare.json").read_text("utf-8"))
    found = re.search(r"\| mean rank \|.*?\n\n", text, re.DOTALL)[0]
    header, _, *rows = found.strip().splitlines()
    names = [cell.strip(" *") for cell in header.split("|")[2:-1]]
    assert len(rows) == sum(len(measured[suite]) for suite in ("development", "report", "further"))
    for row in rows:
        label, *cells = [cell.strip(" *") for cell in row.split("|")[1:-1]]
        known = measured[label.split()[1]]
        ranks = known["batch_1" if "one at a time" in label else "batch_4"]["mean_rank"]
        expected = {name_of(method): f"{rank:.2f}" for method, rank in ranks.items()}
        shown = dict(zip(names, cells, strict=True))
        assert {name: cell for name, cell in shown.items() if cell != "—"} == expected


def test_the_table_of_first_points_is_what_was_measured():
    script = runpy.run_path(str(ROOT / "benchmarks/initial.py"))
    found = records(ROOT / "benchmarks/results", "initial")
    summary = script["summarised"](script["curves"](found, script["TASKS"], range(10)))
    assert script["table"](summary) in (ROOT / "docs/how-to-choose.md").read_text("utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_are_true(name):
    if name.endswith("ray") or name.endswith("_ray_space"):
        pytest.importorskip("ray", reason="make test-integrations runs this")
    module = importlib.import_module(name)
    failures, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failures == 0


def test_the_snippets_for_other_tools_are_short():
    tools = [b for b in BLOCKS if any(needs(t, b) for t in (*OPTIONAL, "sklearn", "optuna"))]
    assert len(tools) == 4
    assert all(len([x for x in b.splitlines() if x.strip()]) <= 12 for b in tools)


def test_every_public_class_has_an_example():
    for name in thomax.__all__:
        item = getattr(thomax, name)
        if isinstance(item, type) and name not in {"StopReason", "Search"}:
            assert ">>>" in (item.__doc__ or ""), f"{name} has no example"


def test_the_map_of_the_paper_names_what_exists():
    text = (ROOT / "docs" / "paper.md").read_text("utf-8")
    for file, name in re.findall(r"`((?:\w+/)*test_\w+\.py)(?:::(\w+))?", text):
        source = (ROOT / ("" if file.startswith("benchmarks") else "tests") / file).read_text(
            "utf-8"
        )
        assert not name or f"def {name}" in source, f"{file}::{name}"
    for module, path in re.findall(r"`(benchmarks[a-z_.]+)\.([A-Z]\w+)`", text):
        assert hasattr(importlib.import_module(module), path), f"{module}.{path}"
    for module, path in re.findall(r"`((?:(?:policies)\.)?[a-z_]+)\.([A-Za-z_][\w.]*)`", text):
        if f"thomax.{module}" in MODULES:
            item = importlib.import_module(f"thomax.{module}")
            for part in path.split("."):
                item = getattr(item, part)
