"""What a notebook shows."""

import re

from thomax import Categorical, Float, Optimizer, Random, Trial


def test_a_search_shows_its_counts_its_best_and_its_last_trials():
    """Row 20."""
    search = Optimizer({"x": Float(0, 1)}, Random(), seed=0)
    assert "no trials" in search._repr_html_()
    assert "<table>" not in search._repr_html_()
    for n in range(8):
        search.tell({"x": n / 8}, -n if n else None)
    shown = search._repr_html_()
    assert "7 complete, 1 failed" in shown
    numbers = re.findall(r"<tr><td>(best)?</td><td>(\d)</td>", shown)
    assert numbers == [("best", "1"), *[("", str(n)) for n in range(3, 8)]]
    assert "3 earlier trials are not shown" in shown


def test_what_users_and_programs_wrote_is_escaped_and_short():
    """Row 20: names, choices and errors may hold anything."""
    evil = "<script>alert('x')</script>"
    search = Optimizer({evil: Categorical([evil, "b"])}, Random(), seed=0)
    trial = search.tell({evil: evil}, error=evil + "y" * 2000)
    for shown in (search._repr_html_(), trial._repr_html_()):
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown
        assert "y" * 100 not in shown


def test_a_trial_shows_its_number_state_value_and_params():
    """Row 20: with the value in full."""
    shown = Trial(3, {"x": 0.5}, value=0.1234567891234, state="complete")._repr_html_()
    for cell in ("trial", "3", "complete", "0.1234567891234", "params x", "0.5"):
        assert f">{cell}<" in shown
    assert "error" not in shown


def test_the_table_shows_the_labels_of_choices_not_the_objects():
    search = Optimizer({"size": Categorical({"small": (64,), "large": (64, 64)})}, seed=0)
    search.tell({"size": "large"}, 1.0)
    assert "<td>large</td>" in search._repr_html_()
    assert "<td>(64" not in search._repr_html_()


def test_corrections_and_notes_are_marked():
    search = Optimizer({"x": Float(0, 1)}, Random(), seed=0)
    search.tell({"x": 0.5}, 0.18, note="stirrer <b>slow</b>")
    search.tell({"x": 0.25}, 0.5)
    search.retract(1)
    assert "<td>retracted</td>" in search._repr_html_()
    trial = search.correct(0, 0.81)
    for shown in (search._repr_html_(), trial._repr_html_()):
        assert "<td>complete (corrected)</td>" in shown
        assert "stirrer &lt;b&gt;slow" in shown
    assert "<th>before</th><td>0.18</td>" in trial._repr_html_()
    assert "error" not in search._repr_html_()


def test_several_metrics_have_a_column_each_and_the_front_comes_first():
    """Row 20."""
    aims = {"yield": "maximize", "cost": "minimize"}
    search = Optimizer({"x": Float(0, 1)}, Random(), seed=0, objectives=aims)
    for x, cost in ((0.25, 1.0), (0.5, 9.0), (0.75, 4.0)):
        search.tell({"x": x}, {"yield": x, "cost": cost})
    shown = search._repr_html_()
    assert "<th>state</th><th>yield</th><th>cost</th><th>x</th>" in shown
    assert re.findall(r"<tr><td>front</td><td>(\d)</td>", shown) == ["0", "2"]
    assert "<th>yield</th><td>0.75</td>" in search.trials[2]._repr_html_()
