"""What the documentation shows is true: code blocks run, names exist, tables are as measured."""

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
from stress import page as reliability

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


PAGES = {p.relative_to(DOCS).as_posix(): p for p in sorted(DOCS.rglob("*.md"))}
MODULES = sorted(m.name for m in pkgutil.walk_packages(thomax.__path__, "thomax."))
OPTIONAL = ("ray", "dask")  # heavy: their blocks run where the packages are
OTHERS = (*OPTIONAL, "sklearn", "optuna")  # what they warn of is not ours to mend


def needs(package, block):
    return f"import {package}" in block or f"from {package}" in block


def run_code(code, folder):
    warnings = [] if any(needs(package, code) for package in OTHERS) else ["-W", "error"]
    run = subprocess.run(
        [sys.executable, *warnings, "-c", code], cwd=folder, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize(
    "block", blocks(ROOT / "README.md"), ids=lambda block: block[-30:].strip()
)
def test_a_code_block_of_the_readme_runs(block, tmp_path):
    assert run_code(block, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", [name for name, path in PAGES.items() if blocks(path)])
def test_the_code_blocks_of_a_page_run_one_after_the_other(page, tmp_path):
    run_here = [b for b in blocks(PAGES[page]) if not any(needs(p, b) for p in OPTIONAL)]
    code = "\n".join(run_here)
    assert len(run_code(code, tmp_path).splitlines()) >= code.count("print(") > 0


@pytest.mark.parametrize("package", OPTIONAL)
def test_the_code_block_of_ray_or_dask_runs(package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; make test-integrations runs this")
    (block,) = [b for b in blocks(DOCS / "how-to/integrations.md") if needs(package, b)]
    assert run_code(block, tmp_path)


def test_the_site_lists_every_page():
    listed = re.findall(
        r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted(PAGES)


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}" for name in PAGES)])
def test_links_to_files_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if link.startswith("https://thomax-dev.github.io/thomax/"):
            source = link.removeprefix("https://thomax-dev.github.io/thomax/")
            assert source.removesuffix(".html") + ".md" in PAGES, link
        elif "://" not in link:
            assert ((ROOT / page).parent / link).exists(), link


def test_the_reference_shows_every_public_name():
    shown = "\n".join(p.read_text("utf-8") for p in (DOCS / "reference").glob("*.md"))
    assert [n for n in thomax.__all__ if f"::: thomax.{n}\n" not in shown] == []


@pytest.mark.parametrize("page", ["README.md", "docs/explanation/benchmarks.md"])
def test_mean_ranks_are_those_that_were_measured(page):
    measured = json.loads((ROOT / "benchmarks/results/compare.json").read_text("utf-8"))
    text = (ROOT / page).read_text("utf-8")
    found = re.search(r"\| mean rank \|.*?\n\n", text, re.DOTALL)[0]
    header, _, *rows = found.strip().splitlines()
    names = [cell.strip(" *") for cell in header.split("|")[2:-1]]
    for row in rows:
        label, *cells = [cell.strip(" *") for cell in row.split("|")[1:-1]]
        known = measured[label.split()[1]]
        ranks = known["batch_1" if "one at a time" in label else "batch_4"]["mean_rank"]
        expected = {name_of(method): f"{rank:.2f}" for method, rank in ranks.items()}
        assert cells == [expected.get(name, "—") for name in names], label


def test_the_gp_of_optuna_is_ahead_in_short_runs_as_the_summary_says():
    measured = json.loads((ROOT / "benchmarks/results/optuna.json").read_text("utf-8"))["results"]
    ahead = {
        n: sum(r["GP"]["curve"][n - 1] < r["thomax"]["curve"][n - 1] for r in measured.values())
        for n in (20, 30, 60)
    }
    assert (len(measured), ahead) == (6, {20: 6, 30: 4, 60: 4})


def test_the_table_of_first_points_is_what_was_measured():
    script = runpy.run_path(str(ROOT / "benchmarks/initial.py"))
    found = records(ROOT / "benchmarks/results", "initial")
    summary = script["summarised"](script["curves"](found, script["TASKS"], range(10)))
    assert script["table"](summary) in (DOCS / "research/defaults.md").read_text("utf-8")


# Rows of the comparison with other libraries, and the test of what they claim.
CLAIMED = {
    "several objectives": "integrations/test_optuna_metrics.py::"
    "test_the_front_of_two_objectives_is_found_from_end_to_end",
    "outcome constraints (limits)": "optimizer/test_several_metrics.py::"
    "test_a_search_finds_the_best_feasible_point_at_its_border",
    "repeated measurements, known errors": "storage/test_observations.py::"
    "test_an_error_that_is_known_draws_the_prediction_to_the_better_measurement",
    "corrections of told results": "optimizer/test_several_metrics.py::"
    "test_a_resumed_search_equals_the_unbroken_one_across_corrections",
}


@pytest.mark.parametrize("row", CLAIMED)
def test_what_other_libraries_are_compared_by_has_a_test(row):
    page = PAGES["explanation/other-libraries.md"].read_text("utf-8")
    ours = re.search(rf"^\| {re.escape(row)} \| ([^|]*) \|", page, re.MULTILINE)
    assert ours is not None
    assert ours[1].startswith("yes")
    path, name = CLAIMED[row].split("::")
    assert f"\ndef {name}(" in (ROOT / "tests" / path).read_text("utf-8")


def test_the_page_on_reliability_is_what_was_measured():
    assert reliability.PAGE.read_text("utf-8") == reliability.page()


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_are_true(name):
    if name.endswith("ray") or name.endswith("_ray_space"):
        pytest.importorskip("ray", reason="make test-integrations runs this")
    module = importlib.import_module(name)
    failures, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failures == 0


def test_every_public_class_has_an_example():
    for name in thomax.__all__:
        item = getattr(thomax, name)
        if isinstance(item, type) and name not in {"StopReason", "Search"}:
            assert ">>>" in (item.__doc__ or ""), f"{name} has no example"


def found(dotted):
    """Return the object of a dotted name."""
    parts, item = dotted.split("."), None
    for length, part in enumerate(parts, start=1):
        if not hasattr(item, part):
            item = importlib.import_module(".".join(parts[:length]))
        else:
            item = getattr(item, part)
    return item


PAPER = (DOCS / "explanation/paper.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`((?:thomax|benchmarks)\.[\w.]+)`", PAPER)))
TESTS = sorted(set(re.findall(r"`((?:\w+/)*test_\w+\.py)(?:::(\w+))?", PAPER)))


@pytest.mark.parametrize("name", NAMED)
def test_a_name_in_the_map_of_the_paper_exists(name):
    assert found(name) is not None


def test_the_map_of_the_paper_names_things_in_full():
    short = re.findall(r"`([a-z_]+\.[A-Za-z_][\w.]*)`", PAPER)
    assert [n for n in short if n.split(".")[0] not in ("thomax", "benchmarks")
            and not n.endswith(".py")] == []  # fmt: skip
    assert len(NAMED) > 40


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_a_test_in_the_map_of_the_paper_exists(file, name):
    path = ROOT / ("" if file.startswith("benchmarks") else "tests") / file
    assert not name or f"def {name}" in path.read_text("utf-8")
