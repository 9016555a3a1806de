"""Ranks, tests and scores against hand computation; runs that resume; a page that says it all."""

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.command import main
from benchmarks.compare import command, page, suites
from benchmarks.compare.ranking import holm, ranks, signed_rank_p
from benchmarks.compare.suites import (
    METHODS,
    SUITES,
    VARIANTS,
    Budget,
    planned,
    runs,
    suite_task,
)
from benchmarks.compare.summary import suite_results, summarised, without_incomplete
from benchmarks.compare.tables import finals, judgements, losses, overview, without_related
from benchmarks.methods import ABLATIONS
from benchmarks.rivals import RIVALS, takes_part
from benchmarks.runner import append_record, finished, records

TWO = {"mine": {"easy": Budget(4, seeds=2), "hard": Budget(4, seeds=2)}}


def record(task, method, seed, final, optimum=None, **changes):
    values = [1.0, 0.0, 0.5, final, final, 0.0]  # the best start is 1.0
    return {
        "task": task, "method": method, "seed": seed, "iterations": 4, "starts": 2,
        "values": values, "judged": None, "optimum": optimum, "data": "", "ask_seconds": 2.0,
        "asks": 4, **changes,
    }  # fmt: skip


RECORDS = [
    *(record("easy", "auto", s, f) for s, f in enumerate([3.0, 5.0])),
    *(record("easy", "random", s, f) for s, f in enumerate([3.0, 2.0])),
    *(record("easy", "smac", s, f, package="smac 1.0") for s, f in enumerate([2.0, 6.0])),
    *(record("hard", "auto", s, f, 10.0) for s, f in enumerate([5.0, 7.0])),
    *(record("hard", "random", s, f, 10.0) for s, f in enumerate([2.0, 8.0])),
    *(record("hard", "smac", s, f, 10.0) for s, f in enumerate([9.0, 9.0])),
]


def result(found=RECORDS, methods=("auto", "random", "smac"), **options):
    (only,) = suite_results(found, methods, suites=TWO, batches=[1], **options)
    return only


def test_ranks_share_ties():
    values = np.array([[3.0, 1.0], [3.0, 2.0], [1.0, 3.0], [2.0, 0.0]])
    np.testing.assert_array_equal(ranks(values), [[1.5, 3], [1.5, 2], [4, 1], [3, 4]])


def test_holms_correction_by_hand():
    """0.01 x 4; 0.02 x 3; 0.03 x 2; and 0.5 x 1: each at least the one before, none above 1."""
    found = holm({"d": 0.5, "b": 0.02, "a": 0.01, "c": 0.03})
    assert found == pytest.approx({"a": 0.04, "b": 0.06, "c": 0.06, "d": 0.5})
    assert [*found] == ["d", "b", "a", "c"]
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_the_signed_rank_test_by_hand_and_beside_scipys():
    """Of 2^5 signs, those with a rank sum of at most 1 are - - - - - and + - - - -."""
    assert signed_rank_p([-1, 2, 3, 4, 5], [0] * 5) == pytest.approx(2 * 2 / 2**5)
    assert signed_rank_p([1, 2, 3], [1, 2, 3]) == 1.0
    x, y = np.random.default_rng(0).normal(size=(2, 14))
    assert signed_rank_p(x, y) == stats.wilcoxon(x, y).pvalue
    assert signed_rank_p([*x, 7], [*y, 7]) == pytest.approx(signed_rank_p(x, y))  # a tie drops out


def test_mean_ranks_by_hand():
    """Finals of easy: (3, 3, 2) and (5, 2, 6); of hard: (5, 2, 9) and (7, 8, 9)."""
    ranked = result().ranked
    assert ranked["easy"] == {"auto": 1.75, "random": 2.25, "smac": 2.0}
    assert ranked["hard"] == {"auto": 2.5, "random": 2.5, "smac": 1.0}
    assert result().mean_rank() == {"auto": 2.125, "random": 2.375, "smac": 1.5}


def test_a_score_is_zero_at_the_starts_and_one_at_the_best_seen():
    """Easy: from 1 to 6. Hard, from the optimum 10: from -9 to -1."""
    easy, hard = result().tasks
    assert easy.scores("auto") == pytest.approx({0: 2 / 5, 1: 4 / 5})
    assert hard.scores("random") == pytest.approx({0: 1 / 8, 1: 7 / 8})
    expected = ((2 / 5 + 4 / 5) / 2 + (4 / 8 + 6 / 8) / 2) / 2
    assert result().mean_score()["auto"] == pytest.approx(expected)
    assert result().wins() == {"auto": 1, "random": 0, "smac": 2}  # auto and smac share easy


def test_a_comparison_is_cut_to_the_shortest_run():
    late = record("easy", "auto", 0, 0.0, iterations=6) | {"values": [1.0, 0, 0, 0, 0, 0, 9, 9]}
    cut = result([late, record("easy", "random", 0, 3.0)], ("auto", "random")).tasks[0]
    assert (cut.upto, cut.finals("auto"), cut.finals("random")) == (4, {0: 1.0}, {0: 3.0})


def test_a_suite_takes_the_runs_of_its_length():
    short = record("easy", "auto", 0, 3.0)
    long = record("easy", "auto", 0, 3.0, iterations=6) | {"values": [1.0, 0, 0, 0, 0, 0, 9, 9]}
    other = record("easy", "random", 0, 2.0, iterations=6)
    for first, second in ((short, long), (long, short)):
        usual = result([first, second, other], ("auto", "random")).tasks[0]
        assert usual.runs["auto"][0] is short
        goes_on = {"long": {"easy": Budget(6, seeds=1, whole=True)}}
        (found,) = suite_results(
            [first, second, other], ["auto", "random"], suites=goes_on, batches=[1]
        )
        assert found.tasks[0].runs["auto"] == {0: long}
    assert suite_results([short], ["auto", "random"], suites=goes_on, batches=[1]) == []


def test_noisy_tasks_are_judged_too():
    """Observed 3 and 5 are worth 2 and 3; a run that went on tells nothing of its first part."""
    found = [
        record("easy", "auto", 0, 3.0, judged=2.0), record("easy", "auto", 1, 5.0, judged=3.0),
        record("easy", "random", 0, 2.0, judged=1.0),
        record("easy", "random", 1, 4.0, judged=0.0, iterations=5),
        *(record("hard", m, 0, 5.0, 10.0, judged=j) for m, j in (("auto", 4.0), ("random", 5.0))),
    ]  # fmt: skip
    how = "when they are judged with less noise or none."
    assert judgements(result(found, ("auto", "random"))) == [
        "- On easy, which is noisy, the points that were observed as best have a value of "
        f"thomax 2.50 ± 0.50, random 1 {how}",
        "- On hard, which is noisy, the points that were observed as best have a regret of "
        f"thomax 6, random 5 {how}",
    ]
    better = [r | {"recommended": 4.5} if r["method"] == "auto" else r for r in found]
    assert [line.split(how)[1] for line in judgements(result(better, ("auto", "random")))] == [
        " Those that `recommend()` names have a value of 4.5 ± 0.",
        " Those that `recommend()` names have a regret of 5.5.",
    ]
    exact = [r | {"judged": max(r["values"])} for r in found]
    assert judgements(result(exact, ("auto", "random"))) == []


def test_seconds_are_those_of_a_suggestion():
    assert result().seconds() == {"auto": 0.5, "random": 0.5, "smac": 0.5}
    batches = [record("easy", f"{m}@4", 0, 3.0) for m in ("auto", "random")]
    (found,) = suite_results(batches, ["auto", "random"], suites=TWO, batches=[4])
    assert found.seconds()["auto"] == 0.125


def test_only_tasks_of_all_methods_are_ranked_and_only_seeds_of_all():
    partial = [r for r in RECORDS if (r["task"], r["method"]) != ("hard", "random")]
    partial = [r for r in partial if (r["task"], r["method"], r["seed"]) != ("easy", "smac", 1)]
    found = result(partial)
    assert found.ranked == {"easy": {"auto": 1.5, "random": 1.5, "smac": 3.0}}
    assert found.versus("smac").keys() == {"easy", "hard"}  # pairs go as far as both do
    assert found.progress("smac") == (3, 4)


def test_a_method_with_few_runs_waits_and_takes_no_seeds_from_the_others():
    partial = [r for r in RECORDS if r["method"] != "smac" or r["task"] == "easy"]
    partial = [r for r in partial if r["method"] != "smac" or r["seed"] == 1]  # the best of all
    (shown,) = without_incomplete([result(partial)])
    assert shown.methods == ("auto", "random")
    assert shown.mean_rank() == result(RECORDS, ("auto", "random")).mean_rank()
    assert shown.progress("smac") == (1, 4)
    best_of_shown = result(partial, ("auto", "random")).tasks[0].scale
    assert shown.tasks[0].scale == best_of_shown != result(partial).tasks[0].scale
    assert not any("SMAC" in line for line in [*overview(shown), *finals(shown), *losses(shown)])
    assert without_incomplete([result()]) == [result()]
    few = [r for r in RECORDS if r["method"] == "auto" or r["seed"] == 0]
    assert without_incomplete([result(few)]) == [
        result(few)
    ]  # most have few: it is ours that leads


def test_ranks_are_also_given_without_kin_of_what_was_tuned_on():
    budgets = {"mine": {"easy": Budget(4, seeds=2, related=True), "hard": Budget(4, seeds=2)}}
    (found,) = suite_results(RECORDS, ["auto", "random", "smac"], suites=budgets, batches=[1])
    assert found.unrelated().mean_rank() == {"auto": 2.5, "random": 2.5, "smac": 1.0}
    assert without_related(found) == [
        "Without tasks that resemble those used for tuning our defaults (easy), 1 tasks "
        "are ranked: SMAC 1.00, thomax 2.50, random 2.50. thomax is better / worse than "
        "random 1 / 0, SMAC 0 / 1."
    ]
    assert result().unrelated() is None
    assert without_related(result()) == []


def always_better_than_random(count):
    """Return a result over so many tasks, in which smac is our equal."""
    tasks = {"mine": {f"t{i}": Budget(4, seeds=1) for i in range(count)}}
    found = []
    for i, task in enumerate(tasks["mine"]):
        finals_ = {"auto": 5.0 + i, "random": 2.0, "smac": 5.0 + i}
        found += [record(task, m, 0, f, 20.0) for m, f in finals_.items()]
    (one,) = suite_results(found, ["auto", "random", "smac"], suites=tasks, batches=[1])
    return one


def test_the_test_over_tasks_is_corrected_for_the_number_of_rivals():
    one = always_better_than_random(6)
    assert one.p_holm() == {"random": pytest.approx(2 * 2 / 2**6), "smac": 1.0}
    assert one.summary()["better"] == {"random": 6, "smac": 0}


def test_a_tiny_probability_is_not_called_nought():
    assert " 0.062 " in overview(always_better_than_random(6))[-1]
    assert " < 0.001 " in overview(always_better_than_random(14))[-1]


def test_losses_are_named_with_their_size():
    assert losses(result()) == [
        "- On hard thomax loses to SMAC by 0.375 (-1.213 … 1.963)."
    ]  # on easy they are level, and random is worse on both
    sure = [record("easy", m, s, f + s / 100) for m, f in (("auto", 2), ("smac", 3))
            for s in range(4)]  # fmt: skip
    assert "**SMAC by" in losses(result(sure, ("auto", "smac")))[0]
    one = [record("easy", m, 0, f) for m, f in (("auto", 2.0), ("smac", 3.0))]
    assert losses(result(one, ("auto", "smac"))) == [
        "- On easy thomax loses to SMAC by 0.500 (one seed)."
    ]


def test_tables_show_means_errors_and_who_is_missing():
    partial = [r for r in RECORDS if (r["task"], r["method"]) != ("hard", "random")]
    rows = finals(result(partial))
    assert rows[0] == "| task | thomax | random | SMAC |"
    assert rows[2] == "| easy (value) | **4.0 ± 1.0** | 2.50 ± 0.50 | **4.0 ± 2.0** |"
    assert rows[3] == "| hard (regret) | 4.0 ± 1.0 | — | **1 ± 0** |"
    assert overview(result())[2].startswith("| SMAC | 1.50 |")


# Suites


def test_the_tasks_tuned_on_are_not_those_reported():
    names = [name for suite in ("development", "report", "further") for name in SUITES[suite]]
    assert len(names) == len({*names})
    assert [*SUITES["report"]] == ["lunar", "rover", "forest", "boosting", "images", "ackley20"]


@pytest.mark.parametrize("name", [*SUITES["development"], *SUITES["further"], "ackley20", "rover"])
def test_a_budget_says_whether_its_task_is_a_pool(name):
    budget = {**SUITES["development"], **SUITES["further"], **SUITES["report"]}[name]
    problem = suite_task(name, 0)
    for method in RIVALS:
        assert takes_part(method, problem.space) == suites.can_search(method, budget)
    if budget.starts is not None:
        assert problem.initial == budget.starts


def test_runs_leave_out_who_cannot_take_part_and_go_seed_by_seed():
    tasks = {"branin": Budget(30, seeds=2), "digits": Budget(8, seeds=1, pool=True)}
    found = runs(tasks, ["auto", "smac"], [4])
    shown = [(r.task, r.method, r.seed, r.iterations) for r in found]
    assert shown == [
        ("branin", "auto@4", 0, 8), ("branin", "smac@4", 0, 8), ("digits", "auto@4", 0, 2),
        ("branin", "auto@4", 1, 8), ("branin", "smac@4", 1, 8),
    ]  # fmt: skip
    assert {r.seed for r in runs(tasks, ["auto"], [1], seeds=3)} == {0, 1, 2}
    without_smac = {"branin": Budget(30, seeds=1, too_slow=("smac",))}
    assert [r.method for r in runs(without_smac, ["auto", "smac"], [4])] == ["auto@4"]


def test_the_full_comparison_has_all_rivals_on_development_and_report_tasks():
    for suite in ("development", "report"):
        for batch in (1, 4):
            assert set(planned(suite, batch)) == {"auto", "random", "sobol", *RIVALS}
    for suite in ("further", "long"):
        assert planned(suite, 1) == ()
        assert {"auto", "random", "optuna-tpe"} < set(planned(suite, 4)) < set(METHODS)


# The command


def options(folder, *more):
    return ["compare", "--folder", str(folder), "--no-progress", *more]


def test_the_command_runs_what_is_missing_and_ends_with_its_summary(tmp_path, capsys):
    folder = tmp_path / "runs"
    some = options(folder, "--tasks", "branin", "--methods", "random", "sobol", "--batch", "20")
    assert main([*some, "--seeds", "1"]) == 0
    assert len(records(folder)) == 2
    assert main([*some, "--seeds", "2"]) == 0
    assert [r["seed"] for r in records(folder)] == [0, 0, 1, 1]
    assert {r["starts"] for r in records(folder)} == {10}
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    found = last["development"]["batch_20"]
    assert found["mean_rank"].keys() == {"random", "sobol"}
    assert (found["seeds"], found["budgets"]) == ({"branin": 2}, {"branin": 60})
    assert json.loads((tmp_path / "compare.json").read_text()) == {"versions": []}  # none of ours


def test_an_ablation_has_its_own_summary_and_section(tmp_path, monkeypatch, capsys):
    folder, name = tmp_path / "runs", next(iter(ABLATIONS))
    for method in ("auto", name):
        for seed in range(2):
            append_record(folder / "branin.jsonl", record("branin", method, seed, 3.0 + seed))
    monkeypatch.setattr(command, "run_all", lambda *args, **options: None)
    document = tmp_path / "page.md"
    assert main(options(folder, "--ablation", "--document", str(document))) == 0
    written = json.loads((tmp_path / "ablation.json").read_text())
    assert written["development"]["batch_1"]["mean_rank"] == {"auto": 1.5, name: 1.5}
    text = document.read_text()
    assert text.index("## Ablations") < text.index(f"| {name} | 1.50 |")
    assert "Nothing was compared yet." in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--tasks", "lunar"], "A task of this suite is one of branin, .*; got 'lunar'"),
        (["--methods", "auto@4"], "leave it out, got 'auto@4', and use --batch"),
        (["--methods", "nothing"], "A method is"),
    ],
)
def test_mistakes_are_one_sentence(more, message, tmp_path, capsys):
    assert main(options(tmp_path, *more)) == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_missing_rival_is_one_sentence_unless_its_runs_are_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.rivals.packages.find_spec", lambda package: None)
    some = options(tmp_path / "runs", "--tasks", "branin", "--methods", "random", "smac",
                   "--batch", "1", "--seeds", "1")  # fmt: skip
    assert main(some) == 2
    assert capsys.readouterr().err == (
        "benchmarks: The method smac needs smac: pip install 'thomax[rivals]'\n"
    )
    for method in ("random", "smac"):
        append_record(tmp_path / "runs" / "branin.jsonl",
                      record("branin", method, 0, 3.0) | {"iterations": 60})  # fmt: skip
    assert main(some) == 0


def test_the_quick_comparison_is_small():
    parser = argparse.ArgumentParser()
    command.add_arguments(parser, int)
    quick = parser.parse_args(["--quick"])
    (tasks,) = command._suites(quick).values()
    found = runs(tasks, command._methods(quick), command._batches(quick))
    assert len(found) == 4 * 2 * 5
    assert {(r.iterations, r.method.partition("@")[2]) for r in found} == {(3, "4")}


# The page


def test_the_page_says_what_was_not_run_and_who_could_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in range(2):
        for task, method, final in [
            ("branin", "auto@4", 3.0), ("branin", "optuna-tpe@4", 4.0 + seed),
            ("digits", "auto@4", 3.0), ("forest", "auto", 2.0), ("forest", "random", 1.0),
        ]:  # fmt: skip
            changes = {"package": "optuna 9.9"} if "optuna" in method else {}
            found = record(task, method, seed, final, **changes) | {"iterations": 1}
            append_record(tmp_path / f"{task}.jsonl", found)
    page.write_page(tmp_path, tmp_path / "docs" / "page.md")
    text = (tmp_path / "docs" / "page.md").read_text()
    assert "Versions: optuna 9.9." in text
    assert "Ranks are over 1 of 15 tasks. Optuna TPE cannot choose among the candida" in text
    assert "seeds: no claims yet.**" in text
    assert "tes of a pool (digits)." in text
    assert "thomax 4 of 150 runs" in text
    assert "SMAC 0 of 140 runs" in text
    assert "qLogNEI would take too long on images. Not everything was run" in text
    assert "On branin thomax loses to Optuna TPE by" in text
    assert "On none of these tasks thomax loses to another method." in text  # of the report's
    assert "## Report tasks, one at a time" in text
    assert text.index("## Development tasks, batches of 4") < text.index("## Report tasks")
    for link in page_links(text):
        assert (tmp_path / "docs" / link).exists(), link
    assert page.page(tmp_path, tmp_path / "docs" / "page.md") == text


def page_links(text):
    return re.findall(r"!\[.*?\]\((.*?)\)", text)


def test_summaries_name_suite_and_batch():
    found = summarised([result()])
    assert found["versions"] == ["smac 1.0"]
    assert found["mine"]["batch_1"]["p_holm"].keys() == {"random", "smac"}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


ROOT = Path(__file__).parents[2]
COMMITTED = Path("benchmarks/results/compare")


@pytest.mark.skipif(not [*(ROOT / COMMITTED).glob("*.jsonl")], reason="no results yet")
def test_nothing_that_the_full_comparison_plans_is_missing():
    done = finished(ROOT / COMMITTED)
    missing = [
        run
        for suite, tasks in SUITES.items()
        for batch in suites.BATCHES
        for run in runs(tasks, planned(suite, batch), [batch])
        if run not in done
    ]
    missing += [run for run in runs(SUITES["development"], VARIANTS, [4]) if run not in done]
    assert missing == []


@pytest.mark.skipif(not [*(ROOT / COMMITTED).glob("*.jsonl")], reason="no results yet")
def test_the_committed_page_and_summary_are_those_of_the_committed_results(monkeypatch):
    monkeypatch.chdir(ROOT)
    output = Path("docs/research/benchmarks.md")
    text = output.read_text("utf-8")
    assert page.page(COMMITTED, output) == text
    for link in page_links(text):
        assert (output.parent / link).exists(), link
    for name, methods in (("compare", METHODS), ("ablation", VARIANTS)):
        summary = json.loads(COMMITTED.with_name(f"{name}.json").read_text("utf-8"))
        found = without_incomplete(suite_results(records(COMMITTED), methods))
        assert summary == summarised(found)
