"""Stress tests take long: `make test` leaves them to `make test-slow`, and most to `--full`."""

import json
import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from stress import PARTS
from stress.part import Part

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results" / "stress.json"

if os.name == "nt":  # without the signals, forks and limits that these tests use
    collect_ignore_glob = ["test_*.py"]


def pytest_addoption(parser):
    parser.addoption(
        "--full", action="store_true", help="stress tests: all rounds, and those marked full"
    )


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # a process of xdist, whose reports come here
        config.pluginmanager.register(Findings(config))


def pytest_collection_modifyitems(config, items):
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.slow)
        if is_full(config):  # a deprecation must not end 20 minutes
            item.add_marker(pytest.mark.filterwarnings("ignore"))
    left_out = [i for i in ours if i.get_closest_marker("full") and not is_full(config)]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def is_full(config):
    # Without a default this fails where the option is unknown: `pytest .` loads this file late.
    return config.getoption("full", default=False)


@pytest.fixture(scope="session")
def short(pytestconfig):
    """Whether few rounds will do."""
    return not is_full(pytestconfig)


@pytest.fixture(scope="session", autouse=True)
def _imports_of_workers(short):
    """Import Optuna once, in the server that workers are forked from, before it starts."""
    if not short:
        from stress.workers import also_import

        also_import("thomax.integrations.optuna")


@pytest.fixture
def part():
    """The record of the test's checks, which go on after one that fails."""
    return Part()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test whose checks did not all hold with a sentence for each, and hand them on."""
    part = item.funcargs.get("part") or Part(passed=1)
    try:
        yield
    except Exception as error:
        sentence = f"{item.name} was not finished: {type(error).__name__}: {error}"
        error.add_note("\n".join(part.failures))
        part.check(False, sentence)
        raise
    finally:
        item.user_properties.append(("part", json.dumps(asdict(part))))
    if part.failed:
        held = f"{part.passed} checks held, {part.failed} did not"
        pytest.fail("\n".join([f"{held}:", *part.failures]), pytrace=False)
    assert part.passed, "nothing was checked"


class Findings:
    """What the tests found, by part; written down after a full run of all of them."""

    def __init__(self, config):
        self._config = config
        self._records = {name: Part() for name in PARTS}
        self._seconds = Counter()
        self._is_all = is_full(config)

    def pytest_deselected(self):
        self._is_all = False

    def pytest_runtest_logreport(self, report):
        name = Path(report.fspath).stem.removeprefix("test_")
        if Path(report.fspath).parent.name != HERE.name or name not in PARTS:
            return
        self._seconds[name] += report.duration
        if report.when == "call":
            found = Part(**json.loads(dict(report.user_properties)["part"]))
            record = self._records[name]
            record.passed += found.passed
            record.failed += found.failed
            record.failures += found.failures
            record.figures |= found.figures
        elif report.failed:
            self._records[name].check(False, f"{report.nodeid} failed in its {report.when}")

    def pytest_sessionfinish(self, session, exitstatus):
        is_over = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        is_all = self._is_all and {*self._seconds} == {*PARTS}
        if is_over and is_all and not (session.shouldstop or session.shouldfail):
            RESULTS.write_text(
                json.dumps({**self._total(), "parts": self._parts()}, indent=1) + "\n"
            )

    def pytest_unconfigure(self):
        """Print a line for each part and a JSON summary last, below what pytest prints."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if not self._seconds or reporter is None:
            return
        for name, found in self._parts().items():
            counts = f"{found['passed']} held, {found['failed']} did not"
            reporter.write_line(f"{name}: {counts}, {found['figures']}")
        reporter.write_line(json.dumps(self._total()))

    def _parts(self):
        for name, seconds in self._seconds.items():
            self._records[name].figures["seconds"] = round(seconds, 1)
        return {name: asdict(self._records[name]) for name in PARTS if name in self._seconds}

    def _total(self):
        records = self._records.values()
        return {"passed": sum(r.passed for r in records), "failed": sum(r.failed for r in records)}
