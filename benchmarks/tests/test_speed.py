"""The page of times and targets shows what was measured."""

import json

from benchmarks import speed
from benchmarks.speed import Row


def test_the_page_shows_what_was_measured():
    assert speed.PAGE.read_text("utf-8") == speed.page()


def test_a_target_is_met_on_its_own_side():
    assert Row("a", 1.0, 0.5, "s").is_met
    assert not Row("a", 1.0, 1.5, "s").is_met
    assert Row("a", 1.0, 1.5, "×", most=False).is_met
    assert not Row("a", 1.0, 0.5, "×", most=False).is_met
    assert Row("a", 1.0, 0.5, "×", most=False).line() == "| a | ≥ 1 × | 0.5 × | **no** |"


def test_what_was_not_measured_is_not_claimed(tmp_path):
    assert {row.is_met for row in speed.rows(tmp_path)} == {None}
    summary = {"journal200000_open_s": 1.25, "ask_n10000_mb": 2048.0}
    (tmp_path / "scale.json").write_text(json.dumps({"summary": summary}))
    found = {row.what: row.reached for row in speed.rows(tmp_path) if row.reached is not None}
    assert found == {"open a journal of 200,000 records": 1.25,
                     "memory of that process, n = 10,000": 2.0}  # fmt: skip
