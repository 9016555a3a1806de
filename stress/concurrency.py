"""Concurrency: eight processes on one journal, and a reader that is never in their way."""

import contextlib
import io
import itertools
import random
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import jax
from threadpoolctl import threadpool_info

import thomax as tx
from stress.deaths import check_deaths
from stress.part import Part
from stress.workers import Receipts, opened, receipts_in, start
from thomax.cli.main import main as cli
from thomax.storage.journal import Journal
from thomax.storage.replay import History

_WORKERS = 8
_SECONDS = 600  # after which workers that have not ended hang
GRID = {  # 3,000 points
    "a": tx.Categorical([f"é{i}" for i in range(30)]),
    "b": tx.Int(0, 9),
    "c": tx.Categorical([None, True, "x", 1.5, 2, "短い", "y", "z", "v", "w"]),
}
_SMALL = {"a": tx.Int(0, 7), "c": tx.Categorical(["p", "q", "r", "s", "t"])}  # 40 points


def run(part: Part, short: bool) -> None:
    """Let eight processes ask and tell, pop a queue, exhaust a space and create a journal.

    Then let workers die.
    """
    share_a_journal(part, trials=4 if short else 100)
    exhaust_a_space(part)
    create_at_once(part, times=1 if short else 10)
    share_an_optimizer(part, trials=10 if short else 100)
    leave_the_process_alone(part, trials=3 if short else 20)
    take_turns(part, turns=7 if short else 20)
    open_again(part, times=5 if short else 50)
    check_deaths(part, short)


def share_a_journal(part: Part, trials: int) -> None:
    """Ask and tell in all processes while a queue is popped and a reader looks on."""
    queued = [_grid_point(i) for i in range(0, 3000, 3000 // (2 * trials))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        journal = folder / "run.jsonl"
        with opened(journal, space=GRID) as search:
            for point in queued:
                search.enqueue(point)
        reader = start(_look_on, journal, folder / "reader")
        begin = time.monotonic()
        _all_end(part, folder, _ask_and_tell, journal, trials)
        part.figures["seconds of a shared journal"] = round(time.monotonic() - begin, 1)
        (folder / "reader.stop").touch()
        reader.join(20)
        _check_readings(part, folder / "reader", reader.exitcode)
        _check_shared(part, journal, trials, queued)


def _grid_point(i: int) -> dict[str, Any]:
    choices = [f"é{i // 100}"], [i // 10 % 10], [GRID["c"].choices[i % 10]]
    return dict(zip(GRID, (values[0] for values in choices), strict=True))


def _all_end(part: Part, folder: Path, work: Any, *arguments: Any) -> None:
    """Run the work in all processes; each must come to its end."""
    workers = [
        start(work, folder / f"{work.__name__}-{i}.receipts", *arguments) for i in range(_WORKERS)
    ]
    end = time.monotonic() + _SECONDS
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
        part.check(worker.exitcode == 0, f"{work.__name__} ended by {worker.exitcode}")
        worker.kill()


def _ask_and_tell(receipts: Path, journal: Path, trials: int) -> None:
    rng, log = random.Random(receipts.name), Receipts(receipts)
    left = trials
    while left:
        count = min(left, rng.randint(1, 3))
        with opened(journal, space=GRID) as search:
            asked = search.ask(count) if rng.random() < 0.5 else [search.ask()]
        for trial in asked:
            log.add(asked=trial.number, params=trial.params)
        with opened(journal, space=GRID) as search:
            for trial in asked:
                value = rng.gauss(0, 1)
                search.tell(trial, value)
                log.add(told=trial.number, value=value)
        left -= len(asked)


def _check_shared(part: Part, journal: Path, trials: int, queued: list[dict[str, Any]]) -> None:
    receipts = [*receipts_in(journal.parent)]
    asked = {r["asked"]: r["params"] for r in receipts if "asked" in r}
    told = {r["told"]: r["value"] for r in receipts if "told" in r}
    history = History(Journal.read(journal).records)
    total = _WORKERS * trials
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
    part.figures["shared journal"] = {"processes": _WORKERS, "trials": len(asked)}


# The reader


def _look_on(journal: Path, answers: Path) -> None:
    """Read and show the journal until told to stop; write down how it went."""
    log = Receipts(answers)
    seen: list[Any] = []
    while not answers.with_suffix(".stop").exists():
        try:
            records = Journal.read(journal).records
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
                code = cli(["show", str(journal)])
            grew = records[: len(seen)] == seen
            seen = records
            log.add(read=grew and code == 0, text="" if code == 0 else shown.getvalue())
        except Exception as error:
            log.add(read=False, text=f"{type(error).__name__}: {error}")
        time.sleep(0.02)


def _check_readings(part: Part, answers: Path, exitcode: int | None) -> None:
    part.check(exitcode == 0, f"the reader ended by {exitcode}")
    readings = [*receipts_in(answers.parent, answers.name)]
    failed = [reading["text"] for reading in readings if not reading["read"]]
    part.check(not failed, f"{len(failed)} of {len(readings)} readings failed: {failed[:1]}")
    part.check(len(readings) > 0, "the reader has not read")
    part.figures["readings meanwhile"] = len(readings)


# Exhaustion


def exhaust_a_space(part: Part) -> None:
    """Ask in all processes until every point of a small space was proposed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _all_end(part, folder, _ask_until_exhausted, folder / "run.jsonl")
        receipts = [*receipts_in(folder)]
        points = Counter(repr(r["params"]) for r in receipts if "asked" in r)
        part.check(len(points) == 40, f"40 points must be proposed, got {len(points)}")
        part.check(max(points.values()) == 1, f"points came twice: {points.most_common(3)}")
        ends = [r["end"] for r in receipts if "end" in r]
        clean = [end for end in ends if end == "empty" or end.startswith("The space is exhausted")]
        part.check(len(clean) == _WORKERS, f"exhaustion must be said in all processes, got {ends}")


def _ask_until_exhausted(receipts: Path, journal: Path) -> None:
    log = Receipts(receipts)
    by_lists = random.Random(receipts.name).random() < 0.5
    for _ in range(100):  # more than there are points
        with opened(journal, space=_SMALL) as search:
            try:
                trials = search.ask(3) if by_lists else [search.ask()]
            except ValueError as error:
                log.add(end=str(error))
                return
            if not trials:
                log.add(end="empty")
                return
            for trial in trials:
                log.add(asked=trial.number, params=trial.params)
                search.tell(trial, 1.0)


# Creation


def create_at_once(part: Part, times: int) -> None:
    """Create a journal without a seed in all processes: one does, the others go on with it."""
    for i in range(times):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            at = time.monotonic() + 0.3
            _all_end(part, folder, _create, folder / "run.jsonl", at)
            receipts = [*receipts_in(folder)]
            errors = [r["error"] for r in receipts if "error" in r]
            part.check(not errors, f"creation {i} at once was refused: {errors[:1]}")
            seeds = {r["seed"] for r in receipts if "seed" in r}
            part.check(len(seeds) == 1, f"all must have the seed of the file, got {seeds}")
            numbers = sorted(r["asked"] for r in receipts if "asked" in r)
            expected = [*range(_WORKERS)]
            part.check(numbers == expected, f"creation {i} gave the numbers {numbers}")


def _create(receipts: Path, journal: Path, at: float) -> None:
    log = Receipts(receipts)
    time.sleep(max(0.0, at - time.monotonic()))
    try:
        with opened(journal, seed=None) as search:
            log.add(seed=search.seed)
            log.add(asked=search.ask().number)
    except Exception as error:
        log.add(error=f"{type(error).__name__}: {error}")


# Threads


def share_an_optimizer(part: Part, trials: int) -> None:
    """Ask and tell from eight threads on one optimiser with a journal."""
    with tempfile.TemporaryDirectory() as name:
        journal = Path(name, "run.jsonl")
        told: dict[int, float] = {}
        given: list[int] = []
        values = itertools.count()
        with opened(journal, space=GRID) as search:

            def work() -> None:
                for _ in range(trials):
                    trial = search.ask()
                    given.append(trial.number)
                    told[trial.number] = search.tell(trial, float(next(values))).value

            threads = [threading.Thread(target=work) for _ in range(_WORKERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(_SECONDS)
        history = History(Journal.read(journal).records)
        found = {t.number: t.value for t in history.trials.values()}
        count = _WORKERS * trials
        part.check(sorted(given) == [*range(count)], "threads must get each number once")
        part.check(found == told, "the journal's values are not those that threads told")
        points = {repr(t.params) for t in history.trials.values()}
        part.check(len(points) == count, f"threads got {len(points)} points of {count} trials")


def leave_the_process_alone(part: Part, trials: int) -> None:
    """Search with an optimiser in each of four threads; look at BLAS and JAX before and after."""

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
        thread.join(_SECONDS)
    after = settings()
    part.check(after[0] == before[0], "searches in threads changed the settings of JAX")
    part.check(after[1] == before[1], f"BLAS had {before[1]} threads, then {after[1]}")


# Turns


def take_turns(part: Part, turns: int) -> None:
    """Let all processes wait for one journal: nobody waits much longer than for all others."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opened(folder / "run.jsonl", space=GRID).close()
        _all_end(part, folder, _take_turns, folder / "run.jsonl", turns)
        order = [r for r in receipts_in(folder) if "turn" in r]
        part.check(len(order) == turns * _WORKERS, f"{len(order)} turns were taken")
        by_time = [r["who"] for r in sorted(order, key=lambda r: r["turn"])]
        middle = by_time[2 * _WORKERS : -2 * _WORKERS]  # all have begun, none has ended
        places = {who: [i for i, w in enumerate(middle) if w == who] for who in {*middle}}
        gaps = [b - a for p in places.values() for a, b in itertools.pairwise(p)]
        longest = max(gaps, default=0)
        part.check(longest <= 4 * _WORKERS, f"one of {_WORKERS} waited for {longest} turns")
        part.figures["most turns waited for"] = longest


def _take_turns(receipts: Path, journal: Path, turns: int) -> None:
    log = Receipts(receipts)
    for _ in range(turns):
        with opened(journal, space=GRID) as search:
            search.tell(search.ask(), 1.0)
            log.add(turn=time.monotonic(), who=receipts.name)
            time.sleep(0.02)
        time.sleep(0.01)  # a shell needs longer than that to start the next command


def open_again(part: Part, times: int) -> None:
    """Open a journal again and again in threads, as cells of a notebook do that are run again."""
    told: list[float] = []
    values = itertools.count()
    with tempfile.TemporaryDirectory() as name:
        journal = Path(name, "run.jsonl")

        def work() -> None:
            for _ in range(times):
                search = opened(journal, space=GRID)
                with contextlib.suppress(RuntimeError):  # a newer one has taken over
                    while True:
                        value = float(next(values))
                        search.tell(_grid_point(0), value)
                        told.append(value)
                        if len(told) % 3 == 0:
                            break

        threads = [threading.Thread(target=work) for _ in range(_WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_SECONDS)
        history = History(Journal.read(journal).records)
        found = sorted(t.value for t in history.listed() if t.value is not None)
        part.check(found == sorted(told), "opening again lost or doubled what was told")
