"""Claims are judged by the records, and shown with figures and verdicts."""

import json
import math

import pytest

from thomax.bench import exploration
from thomax.bench.claims import CLAIMS, findings, table
from thomax.bench.command import main
from thomax.bench.document import write_document
from thomax.bench.figures import FIGURES
from thomax.bench.methods import parse_method
from thomax.bench.plots import draw, draw_exploration, label
from thomax.bench.runner import append_record, records


def fake(method, level, seed, task="rover"):
    """A run whose best value climbs from 0 towards a level, a little different by seed."""
    values = [0.0] * 3 + [(level + 0.01 * (seed % 3)) * (1 - math.exp(-i / 3)) for i in range(12)]
    return {
        "task": task, "method": method, "seed": seed, "iterations": 12, "starts": 3,
        "values": values, "judged": level, "optimum": None, "data": "", "ask_seconds": 1.0,
    }  # fmt: skip


LEVELS = {"sto-paper": 1.0, "linear-paper": 1.0, "gp-ts-paper": 0.3, "gp-ucb-paper": 2.0}
RECORDS = [fake(m, level, seed) for m, level in LEVELS.items() for seed in range(6)]


def verdict(statement, task="rover"):
    (found,) = [
        f for f in findings(RECORDS) if f.claim.statement == statement and f.claim.task == task
    ]
    return found.verdict


def test_verdicts_follow_the_records():
    assert verdict("STO-BNTS beats the paper's gp-ts") == "holds"
    assert verdict("STO-BNTS beats the paper's gp-ucb") == "does not hold"
    assert verdict("STO-BNTS and Linear are level on control tasks") == "holds"
    assert verdict("STO-BNTS beats our strong gp-ts") == "not run"
    assert verdict("STO-BNTS beats the paper's gp-ts", "pushing") == "not run"


def test_every_claim_compares_methods_that_a_figure_runs():
    for claim in CLAIMS:
        for method in (claim.first, claim.second):
            assert parse_method(method)
            if claim.task != exploration.TASK:
                tasks = [f for f in FIGURES.values() if f.task == claim.task]
                assert any(method in f.methods for f in tasks), claim


def test_every_claim_names_a_figure():
    assert {claim.where for claim in CLAIMS} <= {"1abc", *FIGURES}


def test_rows_hold_effect_interval_and_verdict():
    rows = [r for r in table(findings(RECORDS)) if r["task"] == "rover"]
    (row,) = [r for r in rows if r["second"] == "gp-ts-paper"]
    assert row["interval"][0] <= row["difference"] <= row["interval"][1]
    assert row["seeds"] == 6


@pytest.fixture
def folder(tmp_path):
    for record in RECORDS:
        append_record(tmp_path / "rover.jsonl", record)
    return tmp_path


def test_the_page_shows_figures_beside_verdicts(folder, monkeypatch):
    monkeypatch.chdir(folder)
    write_document(folder, folder / "page.md")
    page = (folder / "page.md").read_text()
    assert "**holds**" in page
    assert "**does not hold**" in page
    assert "12 iterations (paper: 500) after 3 starting points, 6 to 6 seeds" in page
    assert "Not run yet." in page
    assert (folder / "figures" / "3c.svg").stat().st_size > 5000


def test_the_lander_stands_beside_the_authors_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in range(2):
        run = fake("sto-paper", 100.0, seed, "lunar")
        append_record(tmp_path / "lunar.jsonl", run | {"values": [50.0] * 3 + [90.0 + seed] * 20,
                                                       "iterations": 20})  # fmt: skip
    write_document(tmp_path, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "| STO-BNTS (paper) | 20 | 92.8 ± 37.8 | 90.5 ± 0.5 |" in page
    assert "| 50 |" not in page


def test_a_figure_shows_regret_where_the_optimum_is_known(tmp_path):
    known = [r | {"optimum": 3.0} for r in RECORDS]
    draw(FIGURES["3c"], known, tmp_path / "regret.svg")
    draw(FIGURES["3c"], RECORDS, tmp_path / "best.svg")
    assert (tmp_path / "regret.svg").read_text() != (tmp_path / "best.svg").read_text()


def test_labels_are_for_people():
    assert label("random") == "random"
    assert label("sto") == "STO-BNTS (ours)"
    assert label("neural-ucb-paper:cnn64@4") == "Neural UCB (paper), cnn64, B=4"


def test_exploration_is_measured_once(tmp_path):
    exploration.measure(tmp_path, [0], count=6)
    first = records(tmp_path, exploration.TASK)
    exploration.measure(tmp_path, [0], count=6)
    assert records(tmp_path, exploration.TASK) == first
    assert {r["method"] for r in first} == set(exploration.METHODS)
    spreads = {r["method"]: r["log_spread"] for r in first}
    assert spreads["sto-paper:8x64"] > spreads["ensemble-paper:8x64"]
    found = [f for f in findings(first) if f.claim.task == exploration.TASK]
    assert [f.verdict for f in found] == ["not enough seeds"] * 2
    assert found[0].comparison.difference == pytest.approx(
        spreads["sto-paper:8x64"] - spreads["ensemble-paper:8x64"]
    )
    draw_exploration(tmp_path / "1abc.svg", count=3)
    assert (tmp_path / "1abc.svg").exists()


def test_observations_leave_the_interval_alone():
    for seed in range(3):
        x = 0.5 * (exploration.observations(seed).x[:, 0] + 1)
        assert len(x) == 10
        assert not ((x >= exploration.UNSEEN[0]) & (x <= exploration.UNSEEN[1])).any()


def test_claims_are_printed_as_a_table_and_as_json(folder, capsys):
    assert main(["claims", "--folder", str(folder)]) == 0
    assert "does not hold" in capsys.readouterr().out
    assert main(["claims", "--folder", str(folder), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(CLAIMS)


def test_a_task_runs_with_methods_of_ones_own(tmp_path, capsys):
    options = ["--folder", str(tmp_path), "--seeds", "2", "--iterations", "3", "--no-progress"]
    assert main(["run", "branin", "--methods", "random", "--batch", "2", *options]) == 0
    found = records(tmp_path, "branin")
    assert [(r["method"], r["seed"]) for r in found] == [("random@2", 0), ("random@2", 1)]
    assert all(len(r["values"]) == r["starts"] + 6 for r in found)


def test_mistakes_are_one_sentence(capsys):
    assert main(["run", "figure-of-speech"]) == 2
    assert capsys.readouterr().err.startswith("thomax: A figure is one of 1d, 2a")
    assert main(["run", "rover", "--methods", "magic"]) == 2
    assert "got 'magic'" in capsys.readouterr().err


def test_the_list_names_figures_and_tasks(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("1abc", "lunar-batch-b", "hartmann6"))
