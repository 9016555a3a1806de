"""A warning names the line of the user that led to it."""

import errno
import warnings

import pytest

from thomax import Float, Int, Optimizer, Random, Trial, maximize
from thomax.storage import locks
from thomax.storage.journal import Journal
from thomax.support.user_warnings import warn

SPACE = {"x": Float(0, 1)}


@pytest.fixture
def path(tmp_path):
    """A journal with a trial."""
    found = tmp_path / "run.jsonl"
    with Optimizer(SPACE, Random(), seed=0, journal=found) as search:
        search.tell(search.ask(), 1.0)
    return found


def torn(path):
    with path.open("ab") as file:
        file.write(b"half a li")
    Optimizer(SPACE, Random(), journal=path).close()


def damaged(path):
    with path.open("ab") as file:
        file.write(b"half a line\n")
    Journal.read(path)


def without_locks(path):
    def refuse(fd, seconds):
        raise OSError(errno.ENOLCK, "no locks")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locks, "_lock", refuse)
        maximize(lambda p: 1.0, SPACE, 1, Random(), journal=path, progress=False)


def without_its_ask(path):
    lines = path.read_bytes().splitlines(keepends=True)
    with Journal.open(path.with_name("other.jsonl"), Journal.read(path).header) as journal:
        journal.append({"tell": 0, "value": 1.0, "error": None})
    assert len(lines) == 3
    Optimizer.open(path.with_name("other.jsonl"), Random()).close()


def changed(path):
    search = Optimizer(SPACE, Random(), seed=0)
    search.tell(Trial(search.ask().number, {"x": 0.5}), 1.0)


def changed_in_a_callback(path):
    def callback(search, trial):
        if trial.number == 0:
            search.tell(Trial(search.ask().number, {"x": 0.5}), 1.0)

    Optimizer(SPACE, Random(), seed=0).run(lambda p: 1.0, 1, callbacks=[callback], progress=False)


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        (torn, "ended in a half-written line"),
        (damaged, "ends in a damaged line"),
        (without_locks, "could not be locked"),
        (without_its_ask, "params of trial 0 are lost"),
        (changed, "was asked for with"),
        (changed_in_a_callback, "was asked for with"),
        (lambda path: Float(0, 1, step=0.3), "ends at 0.9"),
        (lambda path: Int(0, 10, step=4), "ends at 8"),
    ],
)
def test_a_warning_is_about_the_line_of_the_user(cause, message, path):
    with pytest.warns(UserWarning, match=message) as caught:
        cause(path)
    assert [w.filename for w in caught] == [__file__]


def test_each_line_of_a_script_is_warned_of_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            Float(0, 1, step=0.3)
        Float(0, 1, step=0.3)
    assert len({w.lineno for w in caught}) == len(caught) == 2


def function_of(module, code, **names):
    """Return a function that belongs to a module of this name."""
    namespace = {"__name__": module, **names}
    exec(f"def function():\n    {code}", namespace)
    return namespace["function"]


@pytest.mark.parametrize(
    ("options", "origin"), [("", "<string>"), (", through=('sampler',)", __file__)]
)
def test_a_package_that_calls_us_for_the_user_may_be_passed_over(options, origin):
    ours = function_of("thomax.deep", f"warn('look out', RuntimeWarning{options})", warn=warn)
    theirs = function_of("sampler.inner", "ours()", ours=ours)
    with pytest.warns(RuntimeWarning, match="look out") as caught:
        theirs()
    assert [w.filename for w in caught] == [origin]
