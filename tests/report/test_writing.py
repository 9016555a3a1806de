"""Writing: never half a page, never over the journal, again when the journal has grown."""

import subprocess
import sys

import pytest
from reading import SMALL, Page, tell_all

from thomax import Float, Optimizer
from thomax.report import follow, write_report, writing


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "run.jsonl"


@pytest.fixture
def search(journal):
    with Optimizer({"x": Float(0, 1)}, SMALL, seed=0, initial=9, journal=journal) as optimizer:
        yield optimizer


def test_an_optimiser_writes_its_own_report(search, tmp_path):
    tell_all(search, 2, lambda p: p["x"])
    path = search.report(tmp_path / "new" / "folder" / "report.html")
    assert path == tmp_path / "new" / "folder" / "report.html"
    assert "2 trials 2 complete" in Page(path.read_text("utf-8")).text
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_the_journal_is_not_overwritten(search, journal):
    before = journal.read_bytes()
    for source in (search, journal):
        with pytest.raises(ValueError, match="needs a file of its own, got the journal"):
            write_report(source, journal)
    assert journal.read_bytes() == before


@pytest.mark.parametrize("refresh", [0, -1, 1.5, True, "5"])
def test_refresh_is_a_whole_number_of_seconds(search, tmp_path, refresh):
    with pytest.raises(ValueError, match="refresh needs a whole number of seconds"):
        write_report(search, tmp_path / "report.html", refresh=refresh)


def test_a_page_that_cannot_be_made_leaves_the_old_one(search, tmp_path, monkeypatch):
    path = search.report(tmp_path / "report.html")
    before = path.read_bytes()
    monkeypatch.setattr(type(path), "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        search.report(path)
    assert path.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"report.html", "run.jsonl"}


def test_following_writes_when_the_journal_has_changed_and_stops_on_interrupt(
    tmp_path, journal, monkeypatch
):
    page = tmp_path / "report.html"
    seen, written = [], []

    def stamp():
        return page.stat().st_mtime_ns if page.exists() else None

    def sleep(seconds):
        """Play the search that runs meanwhile, one step between two looks."""
        assert seconds == 7.4
        seen.append(stamp())
        if len(seen) == 1:
            with Optimizer({"x": Float(0, 1)}, SMALL, seed=0, journal=journal) as optimizer:
                optimizer.ask()
        if len(seen) == 3:
            with Optimizer({"x": Float(0, 1)}, SMALL, seed=0, journal=journal) as optimizer:
                optimizer.tell(0, 1.0)
        if len(seen) == 4:
            written.append(Page(page.read_text("utf-8")))
            raise KeyboardInterrupt

    monkeypatch.setattr(writing.time, "sleep", sleep)
    follow(journal, page, every=7.4)
    absent, first, same, second = seen
    assert absent is None
    assert first == same != second
    assert "1 trial 1 complete" in written[0].text
    assert written[0].meta("refresh") == "7"


def test_following_needs_time_to_pass(tmp_path):
    with pytest.raises(ValueError, match="needs 0 < every < 86400 seconds, got 0"):
        follow(tmp_path / "run.jsonl", tmp_path / "report.html", every=0)


def test_a_missing_plotly_is_named_with_the_command_that_installs_it(tmp_path):
    program = (
        "import sys; sys.modules['plotly'] = None\n"
        "import thomax as tx\n"
        "tx.Optimizer({'x': tx.Float(0, 1)}).report('report.html')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    sentence = "ImportError: A report needs plotly: pip install thomax[report]"
    assert run.stderr.strip().splitlines()[-1] == sentence
    assert not [*tmp_path.iterdir()]
