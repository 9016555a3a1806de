"""What eight processes do with one journal at the same time."""

import contextlib
import io
import random
import time
from pathlib import Path
from typing import Any

import thomax as tx
from stress.part import Part
from stress.workers import Receipts, opened, start
from thomax.cli.main import main as cli
from thomax.storage.journal import Journal

WORKERS = 8
SECONDS = 600  # after which workers that have not ended hang
GRID = {  # 3,000 points
    "a": tx.Categorical([f"é{i}" for i in range(30)]),
    "b": tx.Int(0, 9),
    "c": tx.Categorical([None, True, "x", 1.5, 2, "短い", "y", "z", "v", "w"]),
}
SMALL = {"a": tx.Int(0, 7), "c": tx.Categorical(["p", "q", "r", "s", "t"])}  # 40 points


def grid_point(i: int) -> dict[str, Any]:
    """Return a point of the grid."""
    choices = [f"é{i // 100}"], [i // 10 % 10], [GRID["c"].choices[i % 10]]
    return dict(zip(GRID, (values[0] for values in choices), strict=True))


def all_end(part: Part, folder: Path, work: Any, *arguments: Any) -> None:
    """Run the work in all processes; each must come to its end."""
    workers = [
        start(work, folder / f"{work.__name__}-{i}.receipts", *arguments) for i in range(WORKERS)
    ]
    end = time.monotonic() + SECONDS
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
        part.check(worker.exitcode == 0, f"{work.__name__} ended by {worker.exitcode}")
        worker.kill()


def ask_and_tell(receipts: Path, journal: Path, trials: int) -> None:
    """Ask for some trials and tell their values, opening the journal for each step."""
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


def look_on(journal: Path, answers: Path) -> None:
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


def ask_until_exhausted(receipts: Path, journal: Path) -> None:
    """Ask until no point of the small space is left."""
    log = Receipts(receipts)
    by_lists = random.Random(receipts.name).random() < 0.5
    for _ in range(100):  # more than there are points
        with opened(journal, space=SMALL) as search:
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


def create(receipts: Path, journal: Path, at: float) -> None:
    """Create the journal at this time, or go on with it."""
    log = Receipts(receipts)
    time.sleep(max(0.0, at - time.monotonic()))
    try:
        with opened(journal, seed=None) as search:
            log.add(seed=search.seed)
            log.add(asked=search.ask().number)
    except Exception as error:
        log.add(error=f"{type(error).__name__}: {error}")


def take_turns(receipts: Path, journal: Path, turns: int) -> None:
    """Hold the journal for a moment again and again."""
    log = Receipts(receipts)
    for _ in range(turns):
        with opened(journal, space=GRID) as search:
            search.tell(search.ask(), 1.0)
            log.add(turn=time.monotonic(), who=receipts.name)
            time.sleep(0.02)
        time.sleep(0.01)  # a shell needs longer than that to start the next command
