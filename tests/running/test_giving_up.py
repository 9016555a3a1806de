"""Where the objective raised is shown, and not where thomax called it."""

from pathlib import Path

import thomax
from thomax.running.giving_up import Ended, FirstFailures
from thomax.storage.trial import Trial


def shown_of(error):
    shown = []
    FirstFailures(0, shown.append, has_worked=False).recordable(Ended(Trial(0, {}), None, error))
    return shown[0]


def raised_in(path):
    try:
        exec(compile("raise ValueError('no')", str(path), "exec"))
    except ValueError as error:
        error.__traceback__ = error.__traceback__.tb_next  # not this file
        return error


def test_a_folder_whose_name_begins_like_ours_is_the_users():
    ours = Path(thomax.__file__).parent
    theirs = ours.with_name(f"{ours.name}_runs") / "train.py"
    assert shown_of(raised_in(theirs)) == (
        f"thomax: trial 0 failed: ValueError: no ({theirs}, line 1)"
    )
    assert (
        shown_of(raised_in(ours / "running" / "loop.py"))
        == "thomax: trial 0 failed: ValueError: no"
    )
