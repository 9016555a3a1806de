"""Kill: workers that end at any moment, on a journal and on studies, and disks that fail."""

import os
import random
import signal
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import thomax as tx
from stress import disks
from stress.interruptions import interrupt_calls, interrupt_runs
from stress.part import Part
from stress.postgres import find_programs, postgres
from stress.studies import kill_workers_of_a_study
from stress.workers import (
    Receipts,
    grows,
    measured,
    opened,
    receipt_count,
    receipts_in,
    search,
    search_and_die,
    start,
)
from thomax.storage.headers import search_header
from thomax.storage.journal import Journal
from thomax.storage.replay import History

_SOON = 2.0  # seconds within which a journal opens and a search goes on
_ROUNDS_A_JOURNAL = 20
_LIMITED = {"limits": {"latency": "<= 0.5"}}
_MODEL = {"policy": tx.STOBNTSLinear(tx.MLP(1, 8, "erf"), noise_std=0.1), "initial": 4}


# Workers


def test_killed_workers_lose_nothing_that_returned(part, short, tmp_path):
    _end_workers(part, tmp_path, signal.SIGKILL, 6 if short else 200)


def test_killed_workers_of_several_metrics_lose_none_of_them(part, short, tmp_path):
    _end_workers(part, tmp_path, signal.SIGKILL, 2 if short else 40, _LIMITED)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_workers_that_are_asked_to_end_lose_nothing_that_returned(part, short, tmp_path, number):
    _end_workers(part, tmp_path, number, 2 if short else 20)


@pytest.mark.full
def test_killed_workers_with_a_model_lose_nothing_that_returned(part, tmp_path):
    _end_workers(part, tmp_path, signal.SIGKILL, 4, _MODEL)


@pytest.mark.full
def test_killed_workers_of_a_study_on_sqlite_lose_nothing_that_returned(part, tmp_path):
    if find_spec("optuna") is None:
        part.figures["sqlite"] = "Optuna is not installed"
        pytest.skip("Optuna is not installed")
    url = f"sqlite:///{tmp_path}/study.db"
    part.figures["sqlite"] = kill_workers_of_a_study(part, url, tmp_path, 20)


@pytest.mark.full
def test_killed_workers_of_a_study_on_postgresql_lose_nothing_that_returned(part, tmp_path):
    programs = find_programs()
    if programs is None or find_spec("psycopg2") is None or find_spec("optuna") is None:
        part.figures["postgresql"] = "not installed"
        pytest.skip("PostgreSQL, psycopg2 or Optuna is not installed")
    with postgres(programs) as url:
        part.figures["postgresql"] = kill_workers_of_a_study(part, url, tmp_path, 10)


def _end_workers(
    part: Part,
    folder: Path,
    number: signal.Signals,
    rounds: int,
    options: dict[str, Any] | None = None,
) -> None:
    """End two workers a round, one while the other goes on, and open their journal."""
    kinds = {"policy": " with a model", "limits": " of several metrics"}
    title = number.name + "".join(kinds.get(name, "") for name in options or {})
    seen: Counter[str] = Counter()
    slowest = {"slowest reopening": 0.0, "slowest next ask": 0.0}
    for first in range(0, rounds, _ROUNDS_A_JOURNAL):
        shared = folder / f"from round {first}"
        shared.mkdir()
        for i in range(first, min(first + _ROUNDS_A_JOURNAL, rounds)):
            where = f"round {i} of {title}"
            _end_two(part, shared, number, where, options or {})
            for step, seconds in _reopen(part, shared, where, options or {}).items():
                slowest[step] = max(slowest[step], round(seconds, 3))
        seen["values told"] += sum("told" in receipt for receipt in receipts_in(shared))
        torn = shared.glob("run.jsonl.torn*")
        seen["bytes of torn lines"] += sum(file.stat().st_size for file in torn)
    part.figures[title] = {"rounds": rounds, **slowest, **seen}


def _end_two(
    part: Part, folder: Path, number: signal.Signals, where: str, options: dict[str, Any]
) -> None:
    rng = random.Random(where)
    dies = number == signal.SIGKILL and rng.random() < 0.5
    names = [folder / f"{where}, {k}.receipts" for k in ("first", "second")]
    first, second = (
        start(kind, folder / "run.jsonl", name, rng.randrange(2**32), options)
        for kind, name in zip((search_and_die if dies else search, search), names, strict=True)
    )
    if not dies:
        _end(part, first, number, names[0], rng)
    _check_end(part, first, number, where)
    part.check(
        grows(names[1], receipt_count(names[1]), 60 if options else _SOON),
        f"the second worker did not go on within {_SOON} s of the end of the first in {where}",
    )
    _end(part, second, number, names[1], rng)
    _check_end(part, second, number, where)


def _end(
    part: Part, worker: Any, number: signal.Signals, receipts: Path, rng: random.Random
) -> None:
    part.check(grows(receipts, 0, 60), f"{receipts.stem}: the worker has not begun after 60 s")
    time.sleep(rng.uniform(0, 0.06))
    os.kill(worker.pid, number)


def _check_end(part: Part, worker: Any, number: signal.Signals, where: str) -> None:
    worker.join(10)
    if number == signal.SIGINT and worker.exitcode is None:
        # Python drops a KeyboardInterrupt that comes within a callback of the garbage collector,
        # as JAX has one: whoever pressed Ctrl-C presses it again.
        os.kill(worker.pid, number)
    worker.join(10)
    part.check(worker.exitcode == -number, f"a worker ended by {worker.exitcode} in {where}")
    worker.kill()
    worker.join()


def _reopen(part: Part, folder: Path, where: str, options: dict[str, Any]) -> dict[str, float]:
    """Open the journal, go on with it, and return how long both took."""
    journal = folder / "run.jsonl"
    begin = time.perf_counter()
    limits = {name: value for name, value in options.items() if name == "limits"}
    with opened(journal, **limits) as optimizer:
        ready = time.perf_counter()
        trial = optimizer.ask()
        end = time.perf_counter()
        optimizer.tell(trial, measured(optimizer, 0.25))
    _check_receipts(part, journal, where)
    asked = {receipt["asked"] for receipt in receipts_in(folder) if "asked" in receipt}
    part.check(trial.number not in asked, f"number {trial.number} was given again in {where}")
    log = Receipts(folder / "reopened.receipts")
    log.add(asked=trial.number, x=trial.params["x"])
    log.add(told=trial.number, value=0.25)
    part.check(ready - begin < _SOON, f"opening took {ready - begin:.1f} s in {where}")
    part.check(end - ready < _SOON, f"the next ask took {end - ready:.1f} s in {where}")
    return {"slowest reopening": ready - begin, "slowest next ask": end - ready}


def _check_receipts(part: Part, journal: Path, where: str) -> None:
    """Compare the journal with what the workers saw returning."""
    read = Journal.read(journal)
    records, metrics = read.records, search_header(journal, read.header).metrics
    history = History(records, metrics)
    receipts = [*receipts_in(journal.parent)]
    given = Counter(r["asked"] for r in receipts if "asked" in r)
    written = Counter(n for r in records if (n := r.get("ask", r.get("add"))) is not None)
    twice = [n for counts in (given, written) for n, count in counts.items() if count > 1]
    part.check(not twice, f"numbers {twice} were given twice in {where}")
    points = {t.number: t.params["x"] for t in history.trials.values()}
    # What a trial came to, and what it had come to before each correction.
    results = {
        t.number: [(c.state, c.value) for c in (*t.corrections, t)]
        for t in history.trials.values()
    }
    lost = [r for r in receipts if "asked" in r and points.get(r["asked"]) != r["x"]]
    lost += [
        r
        for r in receipts
        if "told" in r
        and (r.get("state", "failed" if r["value"] is None else "complete"), r["value"])
        not in results.get(r["told"], [])
    ]
    halves = [
        t.number
        for t in history.trials.values()
        if t.values and (t.value is None or t.values["latency"] != t.value / 2)
    ]
    part.check(not halves, f"trials {halves[:3]} have a part of their values in {where}")
    part.check(not lost, f"{lost[:3]} were seen returning but are not in the journal in {where}")
    served = Counter(r["params"]["x"] for r in records if "ask" in r)
    served.update(params["x"] for params in history.queue)
    wrong = [r for r in receipts if "enqueued" in r and served[r["enqueued"]] != 1]
    part.check(not wrong, f"{wrong[:3]} were not proposed exactly once in {where}")


# Ctrl-C


def test_a_call_interrupted_at_any_instruction_leaves_file_and_memory_the_same(
    part, short, tmp_path
):
    interrupt_calls(part, tmp_path, once=5 if short else 150, twice=3 if short else 60)


def test_a_run_interrupted_at_any_instruction_loses_no_value(part, short, tmp_path):
    interrupt_runs(part, tmp_path, 10 if short else 400)


# Disks


def test_a_power_cut_costs_no_value_that_was_told(part, short):
    disks.cut_power_of_searches(part, 1 if short else 30)


def test_a_power_cut_in_a_repair_leaves_the_damaged_or_the_repaired_file(part, short):
    disks.cut_power_of_repairs(part, 3 if short else 30)


def test_a_tell_without_room_says_so_and_costs_nothing(part, short):
    disks.check_facts(part, disks.tell_without_room, 20 if short else 200)


def test_a_table_without_room_is_told_in_whole_or_not_at_all(part, short):
    disks.check_facts(part, disks.tell_tables_without_room, 20 if short else 200)


def test_a_journal_without_room_is_refused_and_left_as_it_was(part, short):
    disks.check_facts(part, disks.open_without_room, 20 if short else 200)


def test_a_journal_in_a_forbidden_folder_is_read_and_left_as_it_was(part):
    disks.check_facts(part, disks.write_where_it_is_forbidden, 1)
