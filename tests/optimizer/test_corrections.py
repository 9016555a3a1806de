"""Results that turn out wrong: corrected, retracted, and what was known before stays visible."""

import warnings

import pytest
from searches import GRID, hill, optimizer, params_of, told

from thomax import Correction, Float, Int, Optimizer, Random
from thomax.storage.journal import Journal
from thomax.storage.snapshot import Snapshot

LINE = {"x": Float(-1, 1)}


def small(**options):
    return Optimizer(LINE, Random(), **{"seed": 0} | options)


def with_values(*values, **options):
    search = small(**options)
    for value in values:
        search.tell(search.ask(), value)
    return search


def test_a_corrected_trial_has_the_new_value_and_its_history():
    search = with_values(0.18, 0.5)
    assert search.best.number == 1
    corrected = search.correct(0, 0.81, why="two digits swapped")
    assert corrected == search.trials[0] == search.best
    assert (corrected.value, corrected.state, corrected.error) == (0.81, "complete", None)
    # Two asks and two tells came before.
    assert corrected.corrections == (Correction(5, "complete", 0.18, None, "two digits swapped"),)


def test_corrected_twice_the_last_value_counts_and_all_are_kept():
    search = with_values(1.0)
    search.correct(search.trials[0], 2.0)
    twice = search.correct(0, 3.0, why="at last")
    assert twice.value == 3.0
    assert [(c.value, c.why) for c in twice.corrections] == [(1.0, None), (2.0, "at last")]


def test_a_value_becomes_a_failure_and_a_failure_gets_its_value():
    search = with_values(1.0, None)
    failed = search.correct(0, error="the sensor was off")
    complete = search.correct(1, 2.0)
    assert (failed.state, failed.value, failed.error) == ("failed", None, "the sensor was off")
    assert (complete.state, complete.value, complete.error) == ("complete", 2.0, None)
    assert complete.corrections[0].error == "no value"
    assert search.correct(0, float("nan")).error == "the value was nan"


def test_a_retracted_trial_counts_nowhere_until_it_is_corrected():
    search = with_values(5.0, 1.0)
    gone = search.retract(0, why="leak")
    assert (gone.state, gone.value, gone.error) == ("retracted", None, None)
    assert gone.corrections == (Correction(5, "complete", 5.0, None, "leak"),)
    assert search.best.number == 1
    assert search.snapshot().complete == [search.trials[1]]
    assert search.snapshot().data().y.tolist() == [1.0]
    assert search._history.data().y.tolist() == [1.0]
    back = search.correct(0, 4.0)
    assert (back.state, back.value) == ("complete", 4.0)
    assert [c.state for c in back.corrections] == ["complete", "retracted"]
    assert search.best.number == 0


def test_the_point_of_a_retracted_trial_may_be_proposed_again():
    search = Optimizer({"n": Int(0, 3)}, Random(), seed=0, initial=2)
    trials = search.ask(9)
    assert len(trials) == 4
    search.tell_all([(trial, 1.0, None) for trial in trials])
    search.retract(1)
    assert params_of(search.ask(9)) == [trials[1].params]
    search.retract(3)  # while the policy, not the design, proposes
    assert params_of(search.ask(9)) == [trials[3].params]


def test_the_design_of_a_pool_proposes_a_retracted_point_again():
    search = Optimizer({"n": Int(0, 3)}, Random(), seed=0, initial=50)
    trials = search.ask(9)
    search.tell(trials[2], 1.0)
    search.retract(2)
    assert params_of(search.ask(9)) == [trials[2].params]


def test_proposals_after_a_correction_are_those_of_the_value_told_at_once():
    right = told(6)
    wrong = optimizer()
    for n in range(6):
        trial = wrong.ask()
        wrong.tell(trial, hill(trial.params) if n != 4 else 17.0)
        if n == 4:
            wrong.correct(4, hill(trial.params))
    assert params_of(wrong.trials) == params_of(right.trials)
    assert params_of(wrong.ask(2)) == params_of(right.ask(2))
    wrong.correct(2, 9.0)
    wrong.correct(2, right.correct(2, 3.0).value)
    assert params_of(wrong.ask(2)) == params_of(right.ask(2))


def test_proposals_after_a_retraction_do_not_depend_on_the_value():
    one, other = told(5), told(4)
    trial = other.ask()
    other.tell(trial, error="broken")
    for search in (one, other):
        search.retract(4)
    assert params_of(one.ask(2)) == params_of(other.ask(2))


def test_a_resumed_run_equals_the_unbroken_one_across_corrections(tmp_path):
    steps = [
        lambda s: s.tell(s.ask(), 1.0, note="stirrer slow"),
        lambda s: s.tell(s.ask(), 2.0),
        lambda s: s.correct(0, 3.0, why="wrong dilution"),
        lambda s: s.tell(s.ask(), error="broken"),
        lambda s: s.retract(1, why="leak"),
        lambda s: s.tell(s.ask(), 0.5),
        lambda s: s.correct(1, 2.5),
        lambda s: s.correct(0, 2.0),
        lambda s: s.ask(),
    ]
    unbroken = optimizer(GRID, initial=2)
    want = [step(unbroken) for step in steps]
    path, found = tmp_path / "run.jsonl", []
    for step in steps:
        with optimizer(GRID, initial=2, journal=path) as search:
            found.append(step(search))
    assert found == want
    with optimizer(GRID, initial=2, journal=path) as search:
        assert search.trials == unbroken.trials
    assert Snapshot.read(path).changes == unbroken.snapshot().changes


def test_records_hold_what_was_said_and_nothing_else(tmp_path):
    path = tmp_path / "run.jsonl"
    with with_values(1.0, 2.0, journal=path) as search:
        search.correct(0, 3, why="wrong dilution")
        search.correct(0, error="leak")
        search.retract(1, why="leak")
        search.retract(0)
        search.tell({"x": 0.5}, 1.0, note="stirrer slow")
        search.tell({"x": 0.25}, 1.0, note="")
        search.tell_all([(search.ask(), 1.0, None, "late"), ({"x": 0.75}, None, "lost")])
    asked = {"tell": 4, "value": 1.0, "error": None, "note": "late"}
    added = {"add": 5, "params": {"x": 0.75}, "value": None, "error": "lost"}
    records = Journal.read(path).records
    assert records[4:10] == [
        {"correct": 0, "value": 3.0, "error": None, "why": "wrong dilution"},
        {"correct": 0, "value": None, "error": "leak"},
        {"retract": 1, "why": "leak"},
        {"retract": 0},
        {"add": 2, "params": {"x": 0.5}, "value": 1.0, "error": None, "note": "stirrer slow"},
        {"add": 3, "params": {"x": 0.25}, "value": 1.0, "error": None},
    ]
    assert records[11] == {"all": [asked, added]}


def test_a_note_stays_with_its_trial():
    search = small()
    search.tell(search.ask(), 1.0, note="stirrer slow")
    search.tell(search.ask(), error="broken", note="new batch of enzyme")
    search.tell_all([(search.ask(), 1.0, None, "late"), ({"x": 0.75}, None, "lost")])
    search.correct(0, 2.0)
    search.retract(1)
    notes = ["stirrer slow", "new batch of enzyme", "late", None]
    assert [t.note for t in search.trials] == notes
    assert search.to_dataframe()["note"].tolist()[:3] == notes[:3]


def test_changes_come_in_the_order_in_which_they_were_made():
    search = with_values(1.0, 2.0)
    search.correct(1, 3.0)
    search.retract(0)
    search.correct(1, 4.0)
    changes = search.snapshot().changes
    assert [(c.number, c.before.value, c.after.value) for c in changes] == [
        (1, 2.0, 3.0), (0, 1.0, None), (1, 3.0, 4.0),
    ]  # fmt: skip
    assert changes[1].after.state == "retracted"


def test_a_run_replaces_what_was_retracted():
    search = with_values(1.0, 2.0, 3.0)
    search.retract(2)
    search.run(lambda params: 0.0, total=4, progress=False)
    assert len(search.trials) == 5


def test_a_correction_begins_a_new_batch():
    search = small()
    first = search.ask(2)
    search.tell(first[0], 1.0)
    second = search.ask()
    search.correct(0, 2.0)
    third = search.ask()
    assert search.snapshot().batches == [[0, 1], [second.number], [third.number]]


@pytest.mark.parametrize("method", ["correct", "retract"])
def test_what_is_not_finished_is_refused_with_what_to_do_instead(method):
    search = small()
    call = getattr(search, method)
    arguments = (1.0,) if method == "correct" else ()
    with pytest.raises(ValueError, match=f"{method} needs a trial or its number, got 0: there is"):
        call(0, *arguments)
    search.drop(search.ask())
    search.ask()
    before = search.trials
    for number, problem in {
        0: r"a finished trial, got trial 0, which is dropped: `tell\(params, value\)` records",
        1: r"a finished trial, got trial 1, which is pending: `tell\(1, ...\)` records",
        2: "a trial or its number, got 2: trials have the numbers 0 to 1",
        -1: "a trial or its number, got -1",
        "0": "a trial or its number, got '0'",
        None: "a trial or its number, got None",
    }.items():
        with pytest.raises(ValueError, match=f"{method} needs {problem}"):
            call(number, *arguments)
    assert search.trials == before


def test_bad_input_of_a_correction_changes_nothing():
    search = with_values(1.0)
    before, count = search.trials, len(search._records)
    with pytest.raises(TypeError, match="correct needs a value or an error, got neither"):
        search.correct(0)
    with pytest.raises(ValueError, match="correct needs a value or an error, got both"):
        search.correct(0, 1.0, error="x")
    with pytest.raises(ValueError, match="correct needs a number as value, got 'high'"):
        search.correct(0, "high")
    with pytest.raises(ValueError, match="correct needs a text as why, got 3"):
        search.correct(0, 1.0, why=3)
    with pytest.raises(ValueError, match="retract needs a text as why, got 3"):
        search.retract(0, why=3)
    with pytest.raises(ValueError, match=r"tell needs a text as note, got \['slow'\]"):
        search.tell({"x": 0.5}, 1.0, note=["slow"])
    with pytest.raises(ValueError, match="tell_all needs a text as note, got 3"):
        search.tell_all([({"x": 0.5}, 1.0, None, 3)])
    with pytest.raises(TypeError, match="did you mean 'why'"):
        search.correct(0, 1.0, whi="x")
    assert (search.trials, len(search._records)) == (before, count)


def test_a_trial_retracted_twice_is_refused():
    search = with_values(1.0)
    search.retract(0)
    with pytest.raises(ValueError, match=r"trial 0, which is retracted: nothing is left to do"):
        search.retract(0)
    assert len(search.trials[0].corrections) == 1


def test_telling_a_finished_trial_again_names_the_way_to_correct_it():
    search = with_values(1.0)
    with pytest.raises(ValueError, match=r"not pending .* `correct\(0, ...\)` changes its result"):
        search.tell(0, 2.0)


def test_a_trial_of_another_search_is_corrected_with_a_warning():
    search, other = with_values(1.0), with_values(1.0, seed=1)
    with pytest.warns(UserWarning, match="was asked for with"):
        search.correct(other.trials[0], 2.0)
    with warnings.catch_warnings(action="error"):
        search.correct(search.trials[0], 3.0)


def test_the_best_of_nothing_but_retracted_trials_is_none():
    search = with_values(1.0)
    search.retract(0)
    with pytest.raises(ValueError, match="There is no best trial yet"):
        search.best  # noqa: B018
    assert search.snapshot().best is None
