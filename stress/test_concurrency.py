"""Concurrency: eight processes on one journal, and a reader that is never in their way."""

import contextlib
import itertools
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import jax
from threadpoolctl import threadpool_info

import thomax as tx
from stress.deaths import fork_while_a_thread_asks, lose_workers, truncate_the_cache
from stress.part import Part
from stress.sharing import (
    GRID,
    SECONDS,
    WORKERS,
    all_end,
    ask_and_tell,
    ask_until_exhausted,
    create,
    grid_point,
    look_on,
    take_turns,
)
from stress.workers import opened, receipts_in, start
from thomax.storage.journal import Journal
from thomax.storage.replay import History


def test_processes_that_share_a_journal_lose_and_double_nothing(part, short, tmp_path):
    trials = 4 if short else 100
    queued = [grid_point(i) for i in range(0, 3000, 3000 // (2 * trials))]
    journal = tmp_path / "run.jsonl"
    with opened(journal, space=GRID) as search:
        for point in queued:
            search.enqueue(point)
    reader = start(look_on, journal, tmp_path / "reader")
    begin = time.monotonic()
    all_end(part, tmp_path, ask_and_tell, journal, trials)
    part.figures["seconds of a shared journal"] = round(time.monotonic() - begin, 1)
    (tmp_path / "reader.stop").touch()
    reader.join(20)
    _check_readings(part, tmp_path / "reader", reader.exitcode)
    _check_shared(part, journal, trials, queued)


def _check_shared(part: Part, journal: Path, trials: int, queued: list[dict[str, Any]]) -> None:
    receipts = [*receipts_in(journal.parent)]
    asked = {r["asked"]: r["params"] for r in receipts if "asked" in r}
    told = {r["told"]: r["value"] for r in receipts if "told" in r}
    history = History(Journal.read(journal).records)
    total = WORKERS * trials
    numbers = Counter(r["asked"] for r in receipts if "asked" in r)
    part.check(max(numbers.values()) == 1, f"numbers were given twice: {numbers.most_common(3)}")
    part.check({*numbers} == {*range(total)}, f"{total} numbers must be given, got {len(numbers)}")
    found = {t.number: t.params for t in history.trials.values()}
    part.check(found == asked, "the journal's points are not those that were handed out")
    values = {t.number: t.value for t in history.trials.values()}
    part.check(values == told, "the journal's values are not those that were told")
    points = Counter(map(repr, asked.values()))
    part.check(max(points.values()) == 1, f"points came twice: {points.most_common(3)}")
    missing = [point for point in queued if points[repr(point)] != 1]
    part.check(not missing, f"{len(missing)} enqueued points were not proposed exactly once")
    part.check(not history.queue, f"{len(history.queue)} enqueued points are left")
    first = [asked[n] for n in range(len(queued))]
    part.check(first == queued, "enqueued points must come first and in their order")
    part.figures["shared journal"] = {"processes": WORKERS, "trials": len(asked)}


# The reader


def _check_readings(part: Part, answers: Path, exitcode: int | None) -> None:
    part.check(exitcode == 0, f"the reader ended by {exitcode}")
    readings = [*receipts_in(answers.parent, answers.name)]
    failed = [reading["text"] for reading in readings if not reading["read"]]
    part.check(not failed, f"{len(failed)} of {len(readings)} readings failed: {failed[:1]}")
    part.check(len(readings) > 0, "the reader has not read")
    part.figures["readings meanwhile"] = len(readings)


# Exhaustion


def test_processes_that_exhaust_a_space_get_every_point_once(part, tmp_path):
    all_end(part, tmp_path, ask_until_exhausted, tmp_path / "run.jsonl")
    receipts = [*receipts_in(tmp_path)]
    points = Counter(repr(r["params"]) for r in receipts if "asked" in r)
    part.check(len(points) == 40, f"40 points must be proposed, got {len(points)}")
    part.check(max(points.values()) == 1, f"points came twice: {points.most_common(3)}")
    ends = [r["end"] for r in receipts if "end" in r]
    clean = [end for end in ends if end == "empty" or end.startswith("The space is exhausted")]
    part.check(len(clean) == WORKERS, f"exhaustion must be said in all processes, got {ends}")


# Creation


def test_of_processes_that_create_a_journal_at_once_one_does_and_all_go_on_with_it(
    part, short, tmp_path
):
    for i in range(1 if short else 10):
        folder = tmp_path / str(i)
        folder.mkdir()
        at = time.monotonic() + 0.3
        all_end(part, folder, create, folder / "run.jsonl", at)
        receipts = [*receipts_in(folder)]
        errors = [r["error"] for r in receipts if "error" in r]
        part.check(not errors, f"creation {i} at once was refused: {errors[:1]}")
        seeds = {r["seed"] for r in receipts if "seed" in r}
        part.check(len(seeds) == 1, f"all must have the seed of the file, got {seeds}")
        numbers = sorted(r["asked"] for r in receipts if "asked" in r)
        expected = [*range(WORKERS)]
        part.check(numbers == expected, f"creation {i} gave the numbers {numbers}")


# Threads


def test_threads_that_share_an_optimizer_lose_and_double_nothing(part, short, tmp_path):
    trials = 10 if short else 100
    journal = tmp_path / "run.jsonl"
    told: dict[int, float] = {}
    given: list[int] = []
    values = itertools.count()
    with opened(journal, space=GRID) as search:

        def work() -> None:
            for _ in range(trials):
                trial = search.ask()
                given.append(trial.number)
                told[trial.number] = search.tell(trial, float(next(values))).value

        threads = [threading.Thread(target=work) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
    history = History(Journal.read(journal).records)
    found = {t.number: t.value for t in history.trials.values()}
    count = WORKERS * trials
    part.check(sorted(given) == [*range(count)], "threads must get each number once")
    part.check(found == told, "the journal's values are not those that threads told")
    points = {repr(t.params) for t in history.trials.values()}
    part.check(len(points) == count, f"threads got {len(points)} points of {count} trials")


def test_searches_in_threads_leave_the_settings_of_jax_and_blas_alone(part, short):
    trials = 3 if short else 20

    def settings() -> Any:
        return dict(jax.config.values), [library["num_threads"] for library in threadpool_info()]

    def work(seed: int) -> None:
        policy = tx.STOBNTSLinear(tx.MLP(1, 16, "erf"))
        search = tx.Optimizer({"x": tx.Float(0, 1)}, policy, seed=seed, initial=2)
        for _ in range(2 + trials):
            trial = search.ask()
            search.tell(trial, trial.params["x"])

    work(0)  # loads what is loaded once
    before = settings()
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    after = settings()
    part.check(after[0] == before[0], "searches in threads changed the settings of JAX")
    part.check(after[1] == before[1], f"BLAS had {before[1]} threads, then {after[1]}")


# Turns


def test_no_process_waits_for_a_journal_much_longer_than_for_all_others(part, short, tmp_path):
    turns = 7 if short else 20
    opened(tmp_path / "run.jsonl", space=GRID).close()
    all_end(part, tmp_path, take_turns, tmp_path / "run.jsonl", turns)
    order = [r for r in receipts_in(tmp_path) if "turn" in r]
    part.check(len(order) == turns * WORKERS, f"{len(order)} turns were taken")
    by_time = [r["who"] for r in sorted(order, key=lambda r: r["turn"])]
    middle = by_time[2 * WORKERS : -2 * WORKERS]  # all have begun, none has ended
    places = {who: [i for i, w in enumerate(middle) if w == who] for who in {*middle}}
    gaps = [b - a for p in places.values() for a, b in itertools.pairwise(p)]
    longest = max(gaps, default=0)
    part.check(longest <= 4 * WORKERS, f"one of {WORKERS} waited for {longest} turns")
    part.figures["most turns waited for"] = longest


def test_a_journal_opened_again_and_again_loses_and_doubles_nothing(part, short, tmp_path):
    """Threads open it, as cells of a notebook do that are run again."""
    times = 5 if short else 50
    told: list[float] = []
    values = itertools.count()
    journal = tmp_path / "run.jsonl"

    def work() -> None:
        for _ in range(times):
            search = opened(journal, space=GRID)
            with contextlib.suppress(RuntimeError):  # a newer one has taken over
                while True:
                    value = float(next(values))
                    search.tell(grid_point(0), value)
                    told.append(value)
                    if len(told) % 3 == 0:
                        break

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    history = History(Journal.read(journal).records)
    found = sorted(t.value for t in history.listed() if t.value is not None)
    part.check(found == sorted(told), "opening again lost or doubled what was told")


# Deaths


def test_a_worker_that_dies_costs_its_own_trial_only(part, tmp_path):
    lose_workers(part, tmp_path / "run.jsonl")


def test_a_child_forked_while_a_thread_asks_can_tell(part, short):
    fork_while_a_thread_asks(part, 3 if short else 30)


def test_a_compilation_cache_cut_short_is_replaced_without_a_word(part, tmp_path):
    truncate_the_cache(part, tmp_path)
