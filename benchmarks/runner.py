"""Run methods on tasks: same starts for all, every run repeatable, resumable after a kill.

A problem with `initial=0` has no starts: then every method takes its own first points, which count
as evaluations like all others.

A finished run is one JSON line in `<folder>/<task>.jsonl`; a run under way has a journal of its
own in `<folder>/unfinished/`, which the next start continues; rivals have none and start anew.
The seeds of the starting points, of the objective's noise and of the optimiser are independent of
each other; the first two depend on the run's seed only, so that all methods see the same.
"""

import json
import math
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks.methods import Method, parse_method
from benchmarks.rivals import RIVALS, Session, make_rival, version
from benchmarks.tasks.problem import Params, Problem
from benchmarks.tasks.sealed.registry import refuse_sealed
from thomax.keys import make_key, stream
from thomax.optimizer import Optimizer
from thomax.policies.sto import STOBNTS, STOBNTSLinear
from thomax.space.space import Space
from thomax.storage.trial import Trial

# The streams of a run's seed. A report has two of these numbers too (`thomax.keys.Stream`), but
# no part in a benchmark.
STARTS, NOISE, OPTIMISER = 21, 22, 23
TaskMaker = Callable[[str, int], Problem]


@dataclass(frozen=True)
class Run:
    """What identifies a run."""

    task: str
    method: str
    seed: int
    iterations: int

    @property
    def name(self) -> str:
        """A name for files."""
        safe = self.method.replace(":", "_").replace("@", "_b").replace("<", "_until")
        return f"{self.task}-{safe}-{self.iterations}-{self.seed}"


def perform(run: Run, problem: Problem, journal: Path | None = None) -> dict[str, Any]:
    """Perform a run, or finish it, and return its record.

    The values are the observed ones in the order of the trials, the starting points' first;
    `judged` is the noise-free value of the best observed point, where the problem can tell, and
    `recommended` that of the point that our model recommends instead.
    """
    method = parse_method(run.method)
    optimizer = _optimizer(run.seed, method, problem, journal)
    asking, asks = 0.0, 0
    with optimizer:
        starts = _starts(run.seed, problem)
        for number in range(len(optimizer.trials), len(starts)):
            optimizer.tell(starts[number], _start_values(problem, run.seed)[number])
        while True:
            missing = _missing(run, method, optimizer, len(starts))
            if missing:
                begin = time.perf_counter()
                optimizer.ask(missing)
                asking, asks = asking + time.perf_counter() - begin, asks + 1
            trials = optimizer.pending
            if not trials:  # all done, or a finite space is exhausted
                break
            for trial in trials:
                optimizer.tell(trial, _evaluate(problem, trial.params, run.seed, trial.number))
        timing = {"ask_seconds": round(asking, 3), "asks": asks}  # of this session
        package = {"package": version(method.name)} if method.name in RIVALS else {}
        record = _record(run, problem, optimizer.trials, len(starts))
        return record | _recommended(optimizer, problem) | timing | package


def _optimizer(
    seed: int, method: Method, problem: Problem, journal: Path | None
) -> Optimizer | Session:
    own_seed = int(_generator(seed, OPTIMISER).integers(2**31))
    space = problem.space
    if method.name in RIVALS:
        return Session(make_rival(method.name, space, own_seed), space)
    policy, search = method.policy(space, problem.activation), method.search(space)
    has_starts = problem.initial > 0 or problem.starts is not None
    initial = 0 if has_starts else method.initial
    return Optimizer(space, policy, seed=own_seed, initial=initial, search=search, journal=journal)


def _missing(run: Run, method: Method, optimizer: Optimizer | Session, starts: int) -> int:
    """Return how many trials the iteration under way still has to ask for.

    A kill between the asks of one batch leaves it in part; it is completed before it is told.
    """
    asked = len(optimizer.trials) - starts
    if optimizer.pending or asked >= run.iterations * method.batch:
        return -asked % method.batch
    return method.batch


def _record(run: Run, problem: Problem, trials: list[Trial], starts: int) -> dict[str, Any]:
    values = [None if t.value is None else _rounded(t.value) for t in trials]
    best = max(trials, key=lambda t: -np.inf if t.value is None else t.value)
    judged = None if problem.judge is None else _rounded(problem.judge(best.params))
    return {
        **asdict(run), "starts": starts, "values": values, "judged": judged,
        "optimum": problem.optimum, "data": problem.data,
    }  # fmt: skip


def _recommended(optimizer: Optimizer | Session, problem: Problem) -> dict[str, float]:
    if problem.judge is None or isinstance(optimizer, Session):
        return {}
    if not isinstance(optimizer.policy, STOBNTS | STOBNTSLinear):
        return {}
    return {"recommended": _rounded(problem.judge(optimizer.recommend().params))}


def _rounded(value: float) -> float:
    return float(f"{value:.7g}")


def _generator(seed: int, purpose: int) -> np.random.Generator:
    return stream(make_key(seed), purpose)


def _starts(seed: int, problem: Problem) -> list[Params]:
    if problem.starts is not None:
        return problem.starts(seed)
    rng = _generator(seed, STARTS)
    space = problem.space
    if isinstance(space, Space) and not space.is_finite:
        return space.decode(space.sample(rng, problem.initial))
    return space.params(rng.choice(int(space.size), problem.initial, replace=False).tolist())


@lru_cache(maxsize=4)
def _start_values(problem: Problem, seed: int) -> list[float]:
    """Evaluate the starts once for all methods of a seed: some objectives take long."""
    return [_evaluate(problem, p, seed, i) for i, p in enumerate(_starts(seed, problem))]


def _evaluate(problem: Problem, params: Params, seed: int, number: int) -> float:
    return problem.objective(params, stream(make_key(seed, number), NOISE))


def run_all(
    runs: Iterable[Run],
    folder: Path,
    make: TaskMaker,
    *,
    workers: int = 1,
    progress: bool = True,
    unseal: bool = False,
) -> None:
    """Perform the runs that have no record yet, and append their records.

    Sealed tasks are refused unless they are to be unsealed.
    """
    runs = [*runs]
    refuse_sealed((run.task for run in runs), unseal=unseal)
    done = finished(folder)
    missing = [run for run in runs if run not in done]
    with tqdm(total=len(missing), disable=not progress, unit="run") as bar:
        perform_one = partial(_perform_in, folder=folder, make=make)
        for record in in_processes(perform_one, missing, workers):
            append_record(folder / f"{record['task']}.jsonl", record)
            _journal(folder, _run_of(record)).unlink(missing_ok=True)
            bar.update()
            bar.set_postfix_str(f"{record['task']} {record['method']} seed {record['seed']}")


def in_processes(
    function: Callable[[Any], Any], jobs: Iterable[Any], workers: int
) -> Iterator[Any]:
    """Yield the results of jobs as they end, each worker a process on a core of its own."""
    if workers == 1:
        yield from map(function, jobs)
        return
    context = multiprocessing.get_context("spawn")  # forking beside JAX's threads can hang
    cores = context.SimpleQueue()
    for worker in range(workers):
        cores.put(worker)
    with ProcessPoolExecutor(workers, context, _begin_work, (cores,)) as pool:
        futures = [pool.submit(function, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin_work(cores: Any) -> None:
    """Keep this worker to a core of its own, and to the life of its parent."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "sched_setaffinity"):
        available = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {available[cores.get() % len(available)]})


def _end_with_parent() -> None:
    """End this worker when its parent was killed: it would run its jobs for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _perform_in(run: Run, folder: Path, make: TaskMaker) -> dict[str, Any]:
    journal = _journal(folder, run)
    journal.parent.mkdir(parents=True, exist_ok=True)
    return perform(run, _made(make, run.task, run.seed), journal)


@lru_cache(maxsize=2)
def _made(make: TaskMaker, task: str, seed: int) -> Problem:
    """Make a task once for all methods of a seed."""
    return make(task, seed)


def _journal(folder: Path, run: Run) -> Path:
    return folder / "unfinished" / f"{run.name}.jsonl"


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Append one JSON line, on the disk when this returns; half a line before it stays apart."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            torn = file.read(1) != b"\n"
            file.write(b"\n" if torn else b"")
        file.write(json.dumps(_thinned(record)).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def records(folder: Path, task: str | None = None) -> list[dict[str, Any]]:
    """Read the records of a task, or of all; a line cut short by a kill is left out."""
    found = []
    for path in sorted(folder.glob(f"{task or '*'}.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(_filled(json.loads(line)))
            except json.JSONDecodeError:
                continue
    return found


def _thinned(record: dict[str, Any]) -> dict[str, Any]:
    """Keep of the values those that are better than all before, as [place, value].

    Every statistic is about the best value so far, and that is a tenth of the numbers.
    """
    if "values" not in record:
        return record
    best, improvements = -math.inf, []
    for place, value in enumerate(record["values"]):
        if value is not None and value > best:
            best = value
            improvements.append([place, value])
    rest = {name: item for name, item in record.items() if name != "values"}
    return rest | {"evaluations": len(record["values"]), "improvements": improvements}


def _filled(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with a value for every evaluation: the best so far, if it was no better."""
    if "improvements" not in record:
        return record
    rest = {**record}
    improvements, best, values = dict(rest.pop("improvements")), None, []
    for place in range(rest.pop("evaluations")):
        best = improvements.get(place, best)
        values.append(best)
    return rest | {"values": values}


def results(folder: Path) -> list[dict[str, Any]]:
    """Return of each task, method and seed the longest run, or say that there is none."""
    longest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in records(folder):
        key = record["task"], record["method"], record["seed"]
        if key not in longest or record["iterations"] > longest[key]["iterations"]:
            longest[key] = record
    if not longest:
        raise ValueError(
            f"There are no results in {folder}: `python -m benchmarks run` makes them."
        )
    return list(longest.values())


def finished(folder: Path) -> set[Run]:
    """Return the runs that have a record."""
    return {_run_of(record) for record in records(folder)}


def _run_of(record: dict[str, Any]) -> Run:
    return Run(record["task"], record["method"], record["seed"], record["iterations"])
