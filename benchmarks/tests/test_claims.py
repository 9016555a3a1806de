"""Claims are judged by the records, and shown with figures and verdicts."""

import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks import command
from benchmarks.command import main
from benchmarks.methods import parse_method
from benchmarks.paper import document, exploration
from benchmarks.paper.claims import OURS, PAPER, SHARE, findings, table
from benchmarks.paper.document import write_document
from benchmarks.paper.figures import FIGURES
from benchmarks.paper.plots import draw, draw_exploration, label, shown
from benchmarks.runner import append_record, records, results
from benchmarks.tasks.problem import needs
from benchmarks.tasks.registry import task

SHAPE = [1 - math.exp(-i / 40) for i in range(150)]


def fake(method, level, seed, task="rover"):
    """A run whose best value climbs from 0 towards a level, a little different by seed."""
    values = [0.0] * 3 + [(level + 0.01 * (seed % 3)) * rise for rise in SHAPE]
    return {
        "task": task, "method": method, "seed": seed, "iterations": 150, "starts": 3,
        "values": values, "judged": level, "optimum": None, "data": "", "ask_seconds": 1.0,
    }  # fmt: skip


LEVELS = {"sto-paper": 1.0, "linear-paper": 1.0, "gp-ts-paper": 0.3, "gp-ucb-paper": 2.0}
RECORDS = [fake(m, level, seed) for m, level in LEVELS.items() for seed in range(6)]


def found_for(first, second, known=RECORDS, task="rover", claims=PAPER):
    (found,) = [
        (finding, part)
        for finding in findings(known, claims)
        for part in finding.parts
        if (part.pair.task, part.pair.first, part.pair.second) == (task, first, second)
        and part.pair.by == "iteration"
    ]
    return found


def verdict(*names, **options):
    return found_for(*names, **options)[0].verdict


def test_verdicts_follow_the_records():
    assert verdict("sto-paper", "gp-ts-paper") == "holds"
    assert verdict("sto-paper", "gp-ucb-paper") == "does not hold"
    assert verdict("linear-paper", "gp-ucb-paper") == "does not hold"
    assert verdict("sto-paper", "linear-paper") == "holds"  # they are level
    assert verdict("sto-paper", "neural-ts-paper") == "not run"
    assert verdict("sto-paper", "gp-ts", claims=OURS) == "not run"
    assert verdict("sto-paper", "gp-ts-paper", task="pushing") == "not run"


def undecided(iterations):
    """Six seeds of each of two methods, now one better and now the other."""
    runs = []
    for seed in range(6):
        for method, level in (("sto-paper", 1.0), ("gp-ts-paper", 0.5 + seed % 2)):
            values = [0.0] * 3 + [level] * iterations
            runs.append(fake(method, 1.0, seed) | {"values": values, "iterations": iterations})
    return runs


def test_what_is_missing_is_iterations_before_seeds():
    enough = math.ceil(SHARE * FIGURES["3c"].paper_iterations)
    pair = "sto-paper", "gp-ts-paper"
    assert verdict(*pair, known=undecided(enough - 1)) == "not enough iterations"
    assert verdict(*pair, known=undecided(enough)) == "not enough seeds"


def test_short_curves_decide_nothing_even_if_their_interval_is_clear():
    short = [r | {"values": r["values"][: 3 + 149], "iterations": 149} for r in RECORDS]
    for rival in ("gp-ts-paper", "gp-ucb-paper", "linear-paper"):
        assert verdict("sto-paper", rival, known=short) == "not enough iterations"


def test_other_methods_do_not_move_a_claim():
    few = [r for r in RECORDS if r["method"] in ("sto-paper", "gp-ts-paper")]
    names = "sto-paper", "gp-ts-paper"
    assert found_for(*names, known=few)[1] == found_for(*names)[1]


def test_the_paper_states_83_claims_each_in_a_place():
    counts = Counter(claim.place.partition(",")[0] for claim in PAPER)
    assert counts == {
        "Section 5.1": 9, "Section 5.2": 22, "Section 5.3": 36, "Section 5.4": 8,
        "Appendix F.3": 6, "Appendix F.4": 2,
    }  # fmt: skip
    assert len({claim.pairs for claim in PAPER}) == len(PAPER) == 83
    for claim in (*PAPER, *OURS):
        assert re.search(r", Figures? \d", claim.place), claim
    for claim in PAPER:  # the paper has neither our settings nor standardised targets
        for pair in claim.pairs:
            for method in filter(None, (pair.first, pair.second)):
                assert parse_method(method).name.endswith("-paper"), claim


def test_our_claims_are_about_baselines_that_are_not_the_papers():
    assert len(OURS) == 30
    for claim in OURS:
        (pair,) = claim.pairs
        assert not parse_method(pair.second).name.endswith("-paper")


def architectures(forest, boosting, convnet):
    """Runs in which a network of one layer is worse by so much on three tasks."""
    runs = []
    for name, loss in (("forest", forest), ("boosting", boosting), ("convnet", convnet)):
        if loss is not None:
            for method, level in (("sto-paper", 1.0), ("sto-paper:1x512", 1.0 - loss)):
                runs += [fake(method, level, seed, name) for seed in range(4)]
    return runs


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ((0.5, 0.5, -0.5), "holds"),
        ((0.5, None, 0.5), "holds"),
        ((0.5, -0.5, -0.5), "does not hold"),
        ((0.5, -0.5, None), "not run"),
    ],
)
def test_two_of_three_is_one_claim(losses, expected):
    (found,) = [f for f in findings(architectures(*losses)) if "1x512" in f.claim.statement]
    assert len(found.parts) == 3
    assert found.verdict == expected


def test_a_method_that_gets_stuck_does_not_reach_zero():
    def regrets(left):
        runs = [fake("ensemble-paper:8x64", 1.0, seed, "synthetic") for seed in range(30)]
        for run in runs:
            end = 1 - left * (run["seed"] % 3 == 0)
            run |= {"values": [0.0] * 3 + [end] * 50, "optimum": 1.0, "iterations": 50}
        return runs

    names = {"task": "synthetic"}
    assert verdict("ensemble-paper:8x64", "", known=regrets(0.9), **names) == "holds"
    assert verdict("ensemble-paper:8x64", "", known=regrets(0.001), **names) == "does not hold"


def test_every_claim_compares_methods_that_a_figure_runs():
    for claim in (*PAPER, *OURS):
        for pair in claim.pairs:
            for method in filter(None, (pair.first, pair.second)):
                if pair.task != exploration.TASK:
                    figures = [f for f in FIGURES.values() if f.task == pair.task]
                    assert any(method in f.every for f in figures), claim


def test_the_papers_curves_and_ours_are_apart():
    for figure in FIGURES.values():
        endings = (("-paper", figure.methods), ("-released", figure.released))
        for ending, methods in endings:
            assert all(parse_method(m).name.endswith(ending) for m in methods)
            assert not any(name.endswith(ending) for name in figure.ours)


def test_rows_hold_effects_intervals_and_verdict():
    rows = [p for r in table(findings(RECORDS)) for p in r["parts"] if p["task"] == "rover"]
    (row,) = [p for p in rows if (p["first"], p["second"]) == ("sto-paper", "gp-ts-paper")]
    assert (row["seeds"], row["upto"]) == (6, 150)
    # A run's score is its level over that of the better method, times the mean of its shape.
    width = 1.01 * SHAPE[-1]
    assert row["difference"] == pytest.approx(0.7 * np.mean(SHAPE) / width, abs=1e-3)
    assert row["end"] == pytest.approx(0.7 / width, abs=1e-3)


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
    head, _, rest = page.partition("## How the verdicts come about")
    assert f"**Verdicts on the paper's {len(PAPER)} claims:**" in head
    assert "| STO-BNTS beats every baseline on control tasks |" in head
    assert "150 of 500 × 6" in head
    assert len(head.splitlines()) < 40  # one screen
    assert "| STO-BNTS (paper) | 150 × 6 |" in rest
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
    apart = (90.5 - 92.8) / math.hypot(42.3, 0.5)
    assert f"| STO-BNTS (paper) | 20 | 92.8 ± 42.3 | 90.5 ± 0.5 | {apart:+.1f} |" in page
    assert "| STO-BNTS (paper) | 50 |" not in page


def test_the_page_says_which_code_made_the_runs_and_where_settings_differ(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for seed, digest in ((6, "aa"), (7, "bb")):
        run = fake("linear-paper@4", 1.0, seed) | {"commit": "abc", "settings": digest}
        append_record(folder / "rover.jsonl", run)
    page = document.page(folder, folder / "page.md")
    assert "made by the code of abc. Not all runs have the same settings:" in page
    assert page.rstrip().endswith("settings: STO-BNTS-Linear (paper), B=4 on rover.")


def test_a_page_without_runs_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = document.page(tmp_path, tmp_path / "page.md")
    assert f"{len(PAPER)} not run." in page
    assert page.count("Not run yet.") == 1 + len(FIGURES)


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


def test_the_committed_runs_are_those_of_the_figures():
    known = [r for r in results(ROOT / COMMITTED) if r["task"] != exploration.TASK]
    for record in known:
        figures = [f for f in FIGURES.values() if f.task == record["task"]]
        assert any(record["method"] in f.every for f in figures), record["method"]
        assert record["iterations"] <= max(f.paper_iterations for f in figures)
        assert record["seed"] < max(f.seeds for f in figures)


def test_the_committed_regrets_of_functions_are_not_negative():
    for record in results(ROOT / COMMITTED):
        if record["task"] == "synthetic":
            assert (shown(record, FIGURES["1d"]) > -1e-6).all(), record["method"]


def test_figures_show_what_the_paper_shows():
    run = {"values": [1.0, 2.5], "truth": [0.5, 2.0], "starts": 1, "iterations": 1,
           "method": "random"}  # fmt: skip
    for name, optimum, curve in (
        ("1d", 3.0, [2.5, 1.0]), ("2a", 3.0, [0.0, -1.5]), ("3b", 3.0, [1.0, 2.5]),
        ("3c", None, [1.0, 2.5]),
    ):  # fmt: skip
        found = shown(run | {"optimum": optimum}, FIGURES[name])
        np.testing.assert_array_equal(found, curve, err_msg=name)


def test_a_figure_is_the_same_whenever_drawn_and_names_its_lines(tmp_path):
    for name in ("one.svg", "two.svg"):
        draw(FIGURES["3c"], RECORDS, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert "GP-UCB (paper) [6]" in text
    assert "best observed" in text
    synthetic = [fake("sto-paper:8x64", 1.0, s, "synthetic") | {"optimum": 3.0} for s in (0, 1)]
    draw(FIGURES["1d"], synthetic, tmp_path / "regret.svg")
    assert "simple regret" in (tmp_path / "regret.svg").read_text()
    lander = [fake("sto-paper", 1.0, s, "lunar") | {"iterations": 50} for s in (0, 1)]
    draw(FIGURES["3a"], [*lander, *(r | {"method": "gp-ts"} for r in lander)], tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "GP-TS (ours) [2]" in text  # in a panel of its own
    assert text.count("STO-BNTS (paper) [2]") == 2


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
    found = [f for f in findings(first) if f.parts[0].pair.task == exploration.TASK]
    assert [f.verdict for f in found] == ["not enough seeds"] * 2
    assert found[0].parts[0].score.difference == pytest.approx(
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
    assert len(rows) == len(PAPER)
    assert main(["claims", "--folder", str(folder), "--json", "--ours"]) == 0
    assert len(json.loads(capsys.readouterr().out, parse_constant=pytest.fail)) == len(OURS)


def test_a_task_runs_with_methods_of_ones_own(tmp_path, capsys):
    options = ["--folder", str(tmp_path), "--seeds", "2", "--iterations", "3", "--no-progress"]
    assert main(["run", "branin", "--methods", "random", "--batch", "2", *options]) == 0
    found = records(tmp_path, "branin")
    assert [(r["method"], r["seed"]) for r in found] == [("random@2", 0), ("random@2", 1)]
    assert all(len(r["values"]) == r["starts"] + 6 for r in found)


def test_the_papers_curves_come_first_and_may_be_all(tmp_path, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(command, "run_all", lambda runs, *_, **__: asked.append(runs))
    monkeypatch.setattr(command, "_plot", lambda options: None)
    options = ["--folder", str(tmp_path), "--seeds", "2"]
    for words in (["--paper-only"], []):
        assert main(["run", "2b", *words, *options]) == 0
    figure = FIGURES["2b"]
    papers = [(m, seed) for seed in range(2) for m in figure.methods]
    ours = [(m, seed) for seed in range(2) for m in figure.ours]
    assert [(r.method, r.seed) for r in asked[0]] == papers
    assert [(r.method, r.seed) for r in asked[1]] == papers + ours
    assert {r.iterations for r in asked[0]} == {figure.iterations}


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
