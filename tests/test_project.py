"""What surrounds the code names what exists: files, make targets, the version."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = {*re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)}


def commands_of(workflow):
    """Return what the steps of a workflow run, once for each target of a job."""
    for job in yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values():
        targets = job.get("strategy", {}).get("matrix", {}).get("target", [""])
        for step in job.get("steps", []):
            for target in targets:
                yield step.get("run", "").replace('"$TARGET"', target)


def test_contributing_names_files_and_targets_that_exist():
    folders = "thomax|tests|benchmarks|stress|docs|\\.github"
    paths = re.findall(rf"`((?:{folders})/[\w./-]*)`", CONTRIBUTING)
    assert len({*paths}) > 20
    assert [p for p in paths if not (ROOT / p).exists()] == []
    assert {*re.findall(r"`make ([a-z-]+)", CONTRIBUTING)} <= TARGETS


def test_contributing_names_functions_and_tables_where_they_are():
    named = re.findall(r"`(\w+)` (?:of|in) `([\w/]+\.py)`", CONTRIBUTING)
    assert len(named) > 6
    for name, path in named:
        text = (ROOT / path).read_text("utf-8")
        assert re.search(rf"^\s*(def |class )?{name}\b", text, re.MULTILINE), f"{name} in {path}"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda p: p.stem)
def test_a_workflow_may_only_read_unless_a_job_says_so_and_calls_targets_that_exist(workflow):
    assert yaml.safe_load(workflow.read_text("utf-8"))["permissions"] == {"contents": "read"}
    called = {t for c in commands_of(workflow) for t in re.findall(r"^make (\S+)", c)}
    assert called <= TARGETS


def test_the_tests_of_all_systems_are_those_of_make_test():
    recipe = re.search(
        r"^test: .*\n\t\$\(BIN\)/(python .*)$", (ROOT / "Makefile").read_text("utf-8"), re.M
    )
    assert recipe[1] in {*commands_of(ROOT / ".github/workflows/tests.yml")}


def test_the_citation_has_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == version


@pytest.mark.parametrize(("algorithm", "last"), [(1, 9), (2, 8)])
def test_every_line_of_the_papers_algorithms_that_computes_is_marked(algorithm, last):
    source = "".join(p.read_text("utf-8") for p in (ROOT / "thomax").rglob("*.py"))
    marked = {int(n) for n in re.findall(rf"# .*?Algorithm {algorithm}, line (\d)", source)}
    assert marked == {2, *range(4, last + 1)}  # lines 1 and 3 are loops
