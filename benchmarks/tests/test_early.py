"""Wins and scores along the run by hand, power against simulation, the command."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.command import main
from benchmarks.early import page
from benchmarks.early.power import Spread, statement
from benchmarks.early.suites import METHODS, runs
from benchmarks.early.tables import lines, power_lines, summary
from benchmarks.early.wins import Duel, Field, duels, mean_error
from benchmarks.methods import parse_method
from benchmarks.runner import Run, records


def record(task, method, seed, values, starts=0):
    return {"task": task, "method": method, "seed": seed, "values": values, "starts": starts}


def growing(first, last, n=32):
    return np.linspace(first, last, n).tolist()


OWN = [
    record("easy", "auto", 0, growing(0, 31)),
    record("easy", "random", 0, [5.0] * 32),
    record("easy", "auto", 1, growing(0, 31)),
    record("easy", "random", 1, growing(0, 31)),
    record("hard", "auto", 0, [None, *[1.0] * 31]),
    record("hard", "random", 0, [0.0, *[2.0] * 31]),
    record("hard", "random@4", 0, [9.0] * 32),
]


def test_a_win_is_one_and_a_tie_half():
    field = Field.of(OWN, 1)
    assert field.methods == ["auto", "random"]
    assert field.wins("auto", "random", 4) == {"easy": [0.0, 0.5], "hard": [0.0]}
    assert field.wins("auto", "random", 8) == {"easy": [1.0, 0.5], "hard": [0.0]}
    assert field.wins("random", "auto", 1) == {"easy": [1.0, 0.5], "hard": [1.0]}
    duel = Duel.of(field, "auto", "random", 8)
    assert (duel.tasks, duel.rate) == (2, 0.375)
    assert duel.error == pytest.approx(np.std([0.75, 0.0], ddof=1) / math.sqrt(2))


def test_checkpoints_go_as_far_as_the_runs():
    assert Field.of(OWN, 1).checkpoints() == [8, 16, 32]
    longer = [*OWN, record("easy", "auto", 2, growing(0, 1, 96))]
    assert Field.of(longer, 1).checkpoints() == [8, 16, 32, 64, 96]


def test_common_starts_do_not_count():
    values = [7.0, *[1.0] * 7, *growing(0, 15, 16)]
    field = Field.of([record("easy", "auto", 0, values, starts=8)], 1)
    assert field.length == 16
    assert field.best("easy", "auto", 0, 1) == 7.0
    assert field.best("easy", "auto", 0, 9) == 8.0
    assert field.bases["easy", 0] == 7.0


def test_a_score_is_0_after_eight_evaluations_and_1_at_the_best_seen():
    field = Field.of(OWN, 1)
    base = (7 + 5) / 2
    assert field.bases["easy", 0] == base
    assert field.score("easy", "auto", 0, 32) == 1.0
    assert field.score("easy", "auto", 0, 16) == pytest.approx((15 - base) / (31 - base))
    assert field.score("easy", "random", 0, 32) == pytest.approx((5 - base) / (31 - base))
    assert field.score("hard", "auto", 0, 1) == -1.0  # nothing yet: the lowest
    found = field.mean_scores(32)
    assert found["random"] == pytest.approx(np.mean([np.mean([-1 / 25, 1.0]), 1.0]))


def test_of_a_space_that_is_exhausted_the_last_value_stays():
    field = Field.of([*OWN, record("hard", "auto", 1, [3.0] * 5)], 1)
    assert field.best("hard", "auto", 1, 32) == 3.0


def test_ranks_are_over_what_all_methods_have():
    assert Field.of(OWN, 1).mean_ranks(32) == {"auto": (1.25 + 2) / 2, "random": (1.75 + 1) / 2}


def test_the_longest_run_of_a_seed_counts():
    short, long = record("easy", "auto", 0, [9.0] * 8), record("easy", "auto", 0, [1.0] * 32)
    for order in ([short, long], [long, short]):
        assert Field.of(order, 1).best("easy", "auto", 0, 32) == 1.0


def test_tests_are_over_tasks_and_corrected():
    rng, found = np.random.default_rng(0), []
    for task in range(12):
        for seed in range(3):
            value, turn = 1 + 0.3 * rng.normal(), 0.1 * (-1) ** task
            for method, other in (("auto", value), ("weak", value - 1), ("even", value + turn)):
                found.append(record(f"t{task}", method, seed, [other] * 8))
    field = Field.of(found, 1)
    against = duels(field, "auto", 8)
    rates = [np.mean(w) for w in field.wins("auto", "weak", 8).values()]
    raw = stats.wilcoxon([r - 0.5 for r in rates]).pvalue
    assert against["weak"].p == pytest.approx(2 * raw)
    assert (against["even"].rate, against["even"].p) == (0.5, 1.0)
    assert against["weak"].rate > 0.9


def test_tables_show_every_method_at_every_checkpoint():
    field = Field.of(OWN, 1)
    text = "\n".join(lines(field, "auto"))
    assert text.count("after 8 evaluations") == 1
    assert "0.38 ± 0.3" in text
    found = summary(field, "auto")
    assert found["8"]["win_rates"] == {"auto : random": 0.375}
    assert found["8"]["against"]["random"]["tasks"] == 2
    json.dumps(found, allow_nan=False)
    assert power_lines(field, "auto") == ["power: needs two seeds of two tasks for every method"]


def test_mean_and_error_of_one_value():
    mean, error = mean_error([0.3])
    assert mean == 0.3
    assert math.isnan(error)


def drawn(rng, tasks, seeds, mean, between, within):
    middle = rng.normal(mean, between, tasks)
    return {str(t): rng.normal(middle[t], within, seeds).tolist() for t in range(tasks)}


def test_the_spread_is_found_again_in_drawn_outcomes():
    rng = np.random.default_rng(0)
    found = [Spread.of(drawn(rng, 60, 4, 0.0, 0.1, 0.3)) for _ in range(50)]
    assert np.mean([s.within for s in found]) == pytest.approx(0.09, rel=0.05)
    assert np.mean([s.between for s in found]) == pytest.approx(0.01, rel=0.15)
    with pytest.raises(ValueError, match="Power needs at least two tasks with two seeds"):
        Spread.of({"a": [1.0, 2.0], "b": [1.0]})


@pytest.mark.parametrize("comparisons", [1, 6])
def test_as_many_tasks_as_are_needed_show_a_difference_in_four_of_five_studies(comparisons):
    rng, difference, seeds = np.random.default_rng(1), 0.03, 3
    spread = Spread(between=0.05**2, within=0.12**2)
    tasks = spread.tasks_needed(difference, seeds, comparisons=comparisons)
    assert spread.detectable(tasks, seeds, comparisons=comparisons) <= difference
    seen = []
    for _ in range(600):
        outcomes = drawn(rng, tasks, seeds, difference, 0.05, 0.12)
        means = [np.mean(o) for o in outcomes.values()]
        seen.append(stats.wilcoxon(means).pvalue < 0.05 / comparisons)
    assert np.mean(seen) == pytest.approx(0.8, abs=0.07)


def test_the_statement_says_how_many_and_how_small():
    first, second = statement("wins after 8", Spread(0.01, 0.2), tasks=61, comparisons=7)
    assert "a difference of 0.03 needs" in first
    assert f"{Spread(0.01, 0.2).tasks_needed(0.03, 10, comparisons=7)} tasks x 10 seeds" in first
    assert "61 tasks x 10 seeds show" in second


def test_rivals_that_cannot_search_pools_are_left_out_there():
    found = runs(["hplc_pool", "hplc6"], ["auto", "smac"], [1, 4], 2, 96)
    assert Run("hplc6", "smac@4", 1, 24) in found
    assert not [r for r in found if (r.task, r.method.partition("@")[0]) == ("hplc_pool", "smac")]
    assert len(found) == 2 * 2 * 3
    assert all(parse_method(m).batch == 1 for m in METHODS)


ARGUMENTS = ["early", "--tasks", "delayed6", "nk16", "--methods", "sobol", "random", "--seeds",
             "2", "--no-progress", "--folder"]  # fmt: skip


@pytest.mark.parametrize("own", [False, True])
def test_the_command_runs_what_is_missing_and_ends_with_json(own, tmp_path, capsys):
    arguments = [*ARGUMENTS, str(tmp_path), "--evaluations", "20", *(["--own-starts"] * own)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    result = json.loads(printed.splitlines()[-1])
    assert result["reference"] == "sobol"
    assert result["starts"] == ("own" if own else "common")
    assert [*result["batch"]] == ["1", "4"]
    end = 20 if own else 12
    assert str(end) in result["batch"]["1"]
    assert "a difference of 0.03 needs" in printed
    assert (tmp_path / "figures" / "wins.svg").exists()
    known = records(tmp_path)
    assert len(known) == 2 * 2 * 2 * 2
    assert {r["starts"] for r in known} == {0 if own else 8}
    assert {len(r["values"]) for r in known} == {20}
    before = (tmp_path / "nk16.jsonl").read_text()
    assert main(arguments) == 0
    assert (tmp_path / "nk16.jsonl").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--tasks", "moon"], "A task of this suite is one of sgd_digits, .*; got 'moon'"),
        (["--families", "moons"], "A family is one of tuning, .*; got 'moons'"),
        (["--methods", "auto@4"], "leave it out, got 'auto@4'"),
        (["--evaluations", "8"], "--evaluations needs more than the 8 starts, got 8"),
    ],
)
def test_a_wrong_argument_is_one_sentence(arguments, sentence, tmp_path, capsys):
    import re

    assert main(["early", *arguments, "--folder", str(tmp_path)]) == 2
    assert re.search(sentence, capsys.readouterr().err)


def test_the_page_of_first_evaluations_is_what_was_run():
    written = page.PAGE.read_text("utf-8")
    assert written == page.replaced(written, page.tables())
    assert "| Optuna GPSampler | " in written


def test_a_page_keeps_what_stands_around_its_tables():
    whole = f"# Title\n{page.BEGIN}\nold\n{page.END}\nend\n"
    new = f"{page.BEGIN}\nnew\n{page.END}"
    assert page.replaced(whole, new) == f"# Title\n{new}\nend\n"
