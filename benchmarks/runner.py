"""Run methods on tasks: same starts for all, every run repeatable, resumable after a kill.

A problem with `initial=0` has no starts: then every method takes its own first points, which count
as evaluations like all others.

A finished run is one JSON line in `<folder>/<task>.jsonl`; a run under way has a journal of its
own in `<folder>/journals/`, which the next start continues; rivals have none and start anew. Where
journals are kept after the end (`run_all(extend=True)`), a longer run goes on from a shorter one.
The seeds of the starting points, of the objective's noise and of the optimiser are independent of
each other; the first two depend on the run's seed only, so that all methods see the same.

A method of the paper (`-paper`, `-scaled`, `-released`) takes the arg max over the whole domain,
as the paper's algorithms do: points may be evaluated again, also twice in one batch.
"""

import hashlib
import json
import math
import multiprocessing
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks.methods import Method, parse_method
from benchmarks.rivals import RIVALS, Session, make_rival
from benchmarks.rivals.packages import version
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
AS_PRINTED = ("-paper", "-scaled", "-released")  # configurations that are those of the paper
_REGRET_PLACES = 10  # of a curve of cumulative regret that a record keeps
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
        """A name for files; runs that differ in length only have the same."""
        safe = self.method.replace(":", "_").replace("@", "_b").replace("<", "_until")
        return f"{self.task}-{safe}-{self.seed}"


def perform(run: Run, problem: Problem, journal: Path | None = None) -> dict[str, Any]:
    """Perform a run, or finish it, and return its record.

    The values are the observed ones in the order of the trials, the starting points' first;
    `judged` is the noise-free value of the best observed point, where the problem can tell, and
    `recommended` that of the point that our model recommends instead. Where the optimum is known,
    `truth` are the noise-free values of all trials and `regret` is the cumulative regret. A
    journal that already holds more than the run asks for gives the record of its beginning.
    """
    method = parse_method(run.method)
    optimizer = _optimizer(run.seed, method, problem, journal)
    asking, asks = 0.0, 0
    with optimizer:
        starts = _starts(run.seed, problem)
        whole = len(starts) + run.iterations * method.batch
        for number in range(len(optimizer.trials), len(starts)):
            optimizer.tell(starts[number], _start_values(problem, run.seed)[number])
        while len(optimizer.trials) < whole or optimizer.pending:
            missing = _missing(method, optimizer, len(starts))
            if missing:
                begin = time.perf_counter()
                optimizer.ask(missing)
                asking, asks = asking + time.perf_counter() - begin, asks + 1
            trials = optimizer.pending
            if not trials:  # a finite space is exhausted
                break
            for trial in trials:
                optimizer.tell(trial, _evaluate(problem, trial.params, run.seed, trial.number))
        record = _record(run, problem, optimizer.trials[:whole], len(starts))
        if len(optimizer.trials) <= whole:
            record |= _recommended(optimizer, problem)
        timing = {"ask_seconds": round(asking, 3), "asks": asks}  # of this session
        return record | timing | _provenance(method, problem)


def _optimizer(
    seed: int, method: Method, problem: Problem, journal: Path | None
) -> Optimizer | Session:
    own_seed = int(_generator(seed, OPTIMISER).integers(2**31))
    space = problem.space
    if method.name in RIVALS:
        return Session(make_rival(method.name, space, own_seed), space)
    policy, search = method.policy(space, problem.activation), method.search(space)
    has_starts = problem.initial > 0 or problem.starts is not None
    return Optimizer(
        space,
        policy,
        seed=own_seed,
        initial=0 if has_starts else method.initial,
        search=search,
        journal=journal,
        allow_repeats=method.name.endswith(AS_PRINTED),
    )


def _provenance(method: Method, problem: Problem) -> dict[str, str]:
    """Return what made a record: the code and the settings, or a rival's package."""
    made_by = {"commit": code} if (code := commit()) else {}
    if method.name in RIVALS:
        return made_by | {"package": version(RIVALS[method.name].packages)}
    return made_by | {"settings": settings(method, problem)}


def settings(method: Method, problem: Problem) -> str:
    """Return a short digest of all settings behind a method's name.

    Records and journals hold it: those of a name whose settings have changed since are told apart.

    Example:
        >>> from benchmarks.tasks.registry import task
        >>> short, long = (parse_method(f"linear-paper:2x{m}") for m in (64, 256))
        >>> settings(short, task("branin", 0)) == settings(long, task("branin", 0))
        False
    """
    parts = method.policy(problem.space, problem.activation), method.search(problem.space)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


@cache
def commit() -> str:
    """Return the commit of the code that runs, with a plus if files were changed since."""
    here = Path(__file__).parents[1]
    command = ["git", "-C", str(here)]
    try:
        head = subprocess.run(
            [*command, "rev-parse", "--short=10", "HEAD"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        code = ["thomax", "benchmarks", ":!benchmarks/results"]
        changed = subprocess.run([*command, "diff", "--quiet", "HEAD", "--", *code], check=False)
    except (OSError, subprocess.CalledProcessError):
        return ""  # not a clone
    return head.stdout.strip() + ("+" if changed.returncode else "")


def _missing(method: Method, optimizer: Optimizer | Session, starts: int) -> int:
    """Return how many trials the iteration under way still has to ask for.

    A kill between the asks of one batch leaves it in part; it is completed before it is told.
    """
    left = -(len(optimizer.trials) - starts) % method.batch
    return left or (0 if optimizer.pending else method.batch)


def _record(run: Run, problem: Problem, trials: list[Trial], starts: int) -> dict[str, Any]:
    values = [None if t.value is None else _rounded(t.value) for t in trials]
    best = max(trials, key=lambda t: -np.inf if t.value is None else t.value)
    judged = None if problem.judge is None else _rounded(problem.judge(best.params))
    return {
        **asdict(run), "starts": starts, "values": values, "judged": judged,
        "optimum": problem.optimum, "data": problem.data,
    } | _truth(problem, trials, starts)  # fmt: skip


def _truth(problem: Problem, trials: list[Trial], starts: int) -> dict[str, Any]:
    """Return the noise-free values of all trials and the cumulative regret, if they are known.

    Regret is a sum over evaluations after the starting points, given as [evaluations, sum].
    """
    judge = problem.judge
    if judge is None or problem.optimum is None:
        return {}
    truth = [None if t.value is None else judge(t.params) for t in trials]
    sums = np.cumsum([0.0 if f is None else problem.optimum - f for f in truth[starts:]])
    places = np.unique(np.linspace(0, len(sums), _REGRET_PLACES + 1).astype(int)[1:])
    return {
        "truth": [None if f is None else _rounded(f) for f in truth],
        "regret": [[int(n), float(f"{sums[n - 1]:.5g}")] for n in places if n],
    }


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
    extend: bool = False,
) -> None:
    """Perform the runs that have no record yet, and append their records.

    Sealed tasks are refused unless they are to be unsealed. With `extend`, journals stay after the
    end, so that a longer run goes on from a shorter one, and a longer record counts for a shorter
    run.
    """
    runs = [*runs]
    refuse_sealed((run.task for run in runs), unseal=unseal)
    done = finished(folder)
    if extend:
        longest: dict[str, int] = {}
        for run in done:
            longest[run.name] = max(run.iterations, longest.get(run.name, 0))
        done |= {run for run in runs if longest.get(run.name, 0) >= run.iterations}
    missing = [run for run in runs if run not in done]
    with tqdm(total=len(missing), disable=not progress, unit="run") as bar:
        perform_one = partial(_perform_in, folder=folder, make=make)
        for record, journal in in_processes(perform_one, missing, workers):
            append_record(folder / f"{record['task']}.jsonl", record)
            if not extend:
                journal.unlink(missing_ok=True)
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


def _perform_in(run: Run, folder: Path, make: TaskMaker) -> tuple[dict[str, Any], Path]:
    problem = _made(make, run.task, run.seed)
    journal = journal_path(folder, run, problem)
    journal.parent.mkdir(parents=True, exist_ok=True)
    return perform(run, problem, journal), journal


@lru_cache(maxsize=2)
def _made(make: TaskMaker, task: str, seed: int) -> Problem:
    """Make a task once for all methods of a seed."""
    return make(task, seed)


def journal_path(folder: Path, run: Run, problem: Problem) -> Path:
    """Return where a run's journal is: other settings under the same name have another."""
    method = parse_method(run.method)
    digest = "" if method.name in RIVALS else f"-{settings(method, problem)}"
    return folder / "journals" / f"{run.name}{digest}.jsonl"


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


_THINNED = {"values": "improvements", "truth": "true_improvements"}


def _thinned(record: dict[str, Any]) -> dict[str, Any]:
    """Keep of the values those that are better than all before, as [place, value].

    Every statistic is about the best value so far, and that is a tenth of the numbers. Noise-free
    values are left out where they are the observed ones.
    """
    thin = {**record}
    if "truth" in thin and thin["truth"] == thin["values"]:
        del thin["truth"]
    for whole, improvements in _THINNED.items():
        if whole in thin:
            values = thin.pop(whole)
            thin |= {"evaluations": len(values), improvements: _improvements(values)}
    return thin


def _improvements(values: list[float | None]) -> list[list[float]]:
    best, improvements = -math.inf, []
    for place, value in enumerate(values):
        if value is not None and value > best:
            best = value
            improvements.append([place, value])
    return improvements


def _filled(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with a value for every evaluation: the best so far, if it was no better."""
    if "improvements" not in record:
        return record
    full = {**record}
    evaluations = full.pop("evaluations")
    for whole, name in _THINNED.items():
        if name in full:
            improvements, best, values = dict(full.pop(name)), None, []
            for place in range(evaluations):
                best = improvements.get(place, best)
                values.append(best)
            full[whole] = values
    return full


def results(folder: Path) -> list[dict[str, Any]]:
    """Return of each task, method and seed the longest run, or say that there are none."""
    longest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in records(folder):
        key = record["task"], record["method"], record["seed"]
        if key not in longest or record["iterations"] > longest[key]["iterations"]:
            longest[key] = record
    if not longest and not folder.is_dir():
        raise ValueError(
            f"There are no results in {folder}: `python -m benchmarks run` makes them."
        )
    return list(longest.values())


def finished(folder: Path) -> set[Run]:
    """Return the runs that have a record."""
    return {_run_of(record) for record in records(folder)}


def _run_of(record: dict[str, Any]) -> Run:
    return Run(record["task"], record["method"], record["seed"], record["iterations"])
