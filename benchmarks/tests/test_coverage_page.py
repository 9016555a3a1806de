"""The page about intervals says what the results say."""

import json

from benchmarks.coverage import PAGE, RESULTS, page_with, share, table

ROWS = json.loads(RESULTS.read_text("utf-8"))["rows"]


def test_the_page_holds_the_tables_of_the_results():
    assert page_with(ROWS) == PAGE.read_text("utf-8")


def test_intervals_hold_what_was_aimed_at_and_the_page_says_where_they_do_not():
    assert 0.80 <= share(ROWS, "next") <= 0.97
    assert 0.80 <= share(ROWS, "anywhere") <= 0.97
    text = PAGE.read_text("utf-8")
    early = share([row for row in ROWS if row["n"] == 10], "next")
    assert f"After 10 values only {100 * early:.0f} % do" in text
    over_all = 100 * share(ROWS, "next"), 100 * share(ROWS, "anywhere")
    assert "{:.0f} % of the next values and {:.0f} % of random points".format(*over_all) in text


def test_shares_are_counted_over_points_and_not_over_runs():
    rows = [{"task": "a", "n": 10, "next": [1, 4]}, {"task": "b", "n": 10, "next": [8, 8]}]
    assert share(rows, "next") == 9 / 12
    assert table(rows, "next").splitlines()[-1] == "| all | 75 % | 75 % |"
