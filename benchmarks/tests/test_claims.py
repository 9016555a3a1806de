"""Claims are judged by the records, and shown with figures and verdicts."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import command
from benchmarks.command import main
from benchmarks.methods import parse_method
from benchmarks.paper import document, exploration
from benchmarks.paper.claims import CLAIMS, findings, table
from benchmarks.paper.document import write_document
from benchmarks.paper.figures import FIGURES
from benchmarks.paper.plots import draw, draw_exploration, label, shown
from benchmarks.runner import append_record, records, results
from benchmarks.tasks.problem import needs
from benchmarks.tasks.registry import task


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
    assert verdict("STO-BNTS beats our gp-ts") == "not run"
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
    assert (row["seeds"], row["upto"]) == (6, 12)
    # A run's score is its level over the highest level seen, times the same mean of its shape.
    shape = np.mean([1 - math.exp(-i / 3) for i in range(12)])
    top = (2.0 + 0.02) * (1 - math.exp(-11 / 3))
    assert row["difference"] == pytest.approx(0.7 * shape / top, abs=2e-3)


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
    assert "12 of the paper's 500 iterations after 3 starting points, 6 seeds." in page
    for link in re.findall(r"!\[.*?\]\((.*?)\)", page):
        assert (folder / link).exists(), link
        assert not Path(link).is_absolute()
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


ROOT = Path(__file__).parents[2]
COMMITTED = Path("benchmarks/results/paper")


def test_the_committed_page_is_that_of_the_committed_results(monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in ("draw", "draw_exploration"):
        monkeypatch.setattr(document, name, lambda *_: None)
    output = Path("docs/research/reproduction.md")
    assert document.page(COMMITTED, output) == output.read_text("utf-8")
    for link in re.findall(r"!\[.*?\]\((.*?)\)", output.read_text("utf-8")):
        assert (output.parent / link).exists(), link


def test_without_options_a_figure_runs_what_is_committed():
    known = results(ROOT / COMMITTED)
    for figure in FIGURES.values():
        own = [r for r in known if r["task"] == figure.task and r["method"] in figure.methods]
        assert {r["iterations"] for r in own} <= {figure.iterations}, figure.name
        assert {r["seed"] for r in own} <= {*range(figure.seeds)}, figure.name


def test_regret_is_measured_from_each_runs_own_optimum():
    curve = np.array([1.0, 2.0])
    np.testing.assert_array_equal(shown(curve, {"optimum": 3.0}), [2.0, 1.0])
    np.testing.assert_array_equal(shown(curve, {"optimum": None}), curve)


def test_a_figure_is_the_same_whenever_drawn_and_names_its_lines(tmp_path):
    for name in ("one.svg", "two.svg"):
        draw(FIGURES["3c"], RECORDS, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert "GP-UCB (paper) [6]" in text
    assert "best observed" in text
    draw(FIGURES["3c"], [r | {"optimum": 3.0} for r in RECORDS], tmp_path / "regret.svg")
    assert "regret of the best observed" in (tmp_path / "regret.svg").read_text()


def test_labels_are_for_people():
    assert label("random") == "random"
    assert label("sto") == "STO-BNTS (ours)"
    assert label("neural-ucb-paper:cnn64@4") == "Neural UCB (paper), cnn64, B=4"


def test_exploration_is_measured_once(tmp_path):
    exploration.measure(tmp_path, [0], count=6)
    first = records(tmp_path, exploration.TASK)
    exploration.measure(tmp_path, [0], count=6)
    assert records(tmp_path, exploration.TASK) == first
    exploration.measure(tmp_path, [0], count=7)
    assert {r["iterations"] for r in results(tmp_path)} == {7}  # more draws count
    assert {r["method"] for r in first} == set(exploration.METHODS)
    spreads = {r["method"]: r["log_spread"] for r in first}
    assert spreads["sto-paper:8x64"] > spreads["ensemble-paper:8x64"]
    found = [f for f in findings(first) if f.claim.task == exploration.TASK]
    assert [f.verdict for f in found] == ["not enough seeds"] * 2
    assert found[0].comparison.difference == pytest.approx(
        spreads["sto-paper:8x64"] - spreads["ensemble-paper:8x64"]
    )
    draw_exploration(tmp_path / "1abc.svg", count=7)  # as many as before: compiled
    assert (tmp_path / "1abc.svg").exists()


def test_observations_leave_the_interval_alone():
    for seed in range(3):
        x = 0.5 * (exploration.observations(seed).x[:, 0] + 1)
        assert len(x) == 10
        assert not ((x >= exploration.UNSEEN[0]) & (x <= exploration.UNSEEN[1])).any()


def test_claims_are_printed_as_a_table_and_as_json(folder, capsys):
    assert main(["claims", "--folder", str(folder)]) == 0
    assert "does not hold" in capsys.readouterr().out
    append_record(folder / "pushing.jsonl", fake("sto-paper", 1.0, 0, "pushing"))
    append_record(folder / "pushing.jsonl", fake("gp-ts", 0.5, 0, "pushing"))  # one seed
    assert main(["claims", "--folder", str(folder), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert len(rows) == len(CLAIMS)


def test_a_task_runs_with_methods_of_ones_own(tmp_path, capsys):
    options = ["--folder", str(tmp_path), "--seeds", "2", "--iterations", "3", "--no-progress"]
    assert main(["run", "branin", "--methods", "random", "--batch", "2", *options]) == 0
    found = records(tmp_path, "branin")
    assert [(r["method"], r["seed"]) for r in found] == [("random@2", 0), ("random@2", 1)]
    assert all(len(r["values"]) == r["starts"] + 6 for r in found)


def test_mistakes_are_one_sentence(capsys):
    assert main(["run", "figure-of-speech"]) == 2
    assert capsys.readouterr().err.startswith("benchmarks: A figure is one of 1abc, 1d, 2a")
    assert main(["run", "rover", "--methods", "magic"]) == 2
    assert "got 'magic'" in capsys.readouterr().err


def test_without_results_nothing_is_written(tmp_path, capsys):
    page = tmp_path / "page.md"
    for words in (["claims"], ["plot", "3c"], ["document", "--output", str(page)]):
        assert main([*words, "--folder", str(tmp_path / "none")]) == 2
        assert "There are no results in" in capsys.readouterr().err
    assert not page.exists()


@pytest.mark.parametrize("option", ["--seeds", "--iterations", "--batch", "--workers"])
@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_numbers_must_be_positive(option, number, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["run", "branin", option, number])
    assert stopped.value.code == 2
    assert "needs a whole number >= 1" in capsys.readouterr().err


def test_a_task_is_drawn_with_the_methods_that_were_run(folder, capsys):
    assert main(["plot", "rover", "--folder", str(folder)]) == 0
    assert "GP-TS (paper) [6]" in (folder / "figures" / "rover.svg").read_text()


def test_a_missing_package_stops_its_task_only(tmp_path, monkeypatch, capsys):
    def without(name, seed):
        if name == "lunar":
            raise needs("gymnasium[box2d]", "lunar")
        return task("branin", seed)

    monkeypatch.setattr(command, "task", without)
    monkeypatch.setattr(command, "FIGURES", {k: FIGURES[k] for k in ("3a", "3c")})
    monkeypatch.setattr(exploration, "measure", lambda *_: None)
    options = ["--methods", "random", "--quick", "--no-progress", "--folder", str(tmp_path)]
    assert main(["run", "all", *options]) == 2
    assert "pip install 'thomax[tasks]'" in capsys.readouterr().err
    assert [r["task"] for r in records(tmp_path)] == ["rover"]


def test_the_list_names_figures_and_tasks(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("1abc", "lunar-batch-b", "hartmann6"))
