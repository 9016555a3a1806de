"""Workers of Optuna studies that are killed, on SQLite and on a PostgreSQL server of our own."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import thomax as tx
from stress.part import Part
from stress.workers import Receipts, grows, receipt_count, receipts_in, start

_SOON = 2.0  # seconds within which a study opens and goes on
_ENDLESS = 10**6  # startup trials, for workers that need no JAX


def kill_workers_of_a_study(part: Part, url: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Kill two workers a round, go on with their study, and return what was measured."""
    _study(url, _ENDLESS)  # the tables, once
    slowest = 0.0
    for i in range(rounds):
        where = f"round {i} on {url.split(':')[0]}"
        _kill_two(part, url, folder, where)
        slowest = max(slowest, _reopen(part, url, folder, where))
        if i % 5 == 0:
            _ask_a_model(part, url, folder, where)
    told = sum("told" in receipt for receipt in receipts_in(folder))
    return {"rounds": rounds, "slowest reopening": round(slowest, 3), "values told": told}


def _kill_two(part: Part, url: str, folder: Path, where: str) -> None:
    rng = random.Random(where)
    names = [folder / f"{where}, {k}.receipts" for k in ("first", "second")]
    workers = [start(_work, url, name, rng.randrange(2**32)) for name in names]
    for worker, name in zip(workers, names, strict=True):
        # The second one must go on after the first was killed.
        part.check(grows(name, receipt_count(name), 30), f"{name.stem}: no progress in 30 s")
        time.sleep(rng.uniform(0, 0.1))
        os.kill(worker.pid, signal.SIGKILL)
        worker.join(20)


def _study(url: str, startup: int) -> Any:
    import optuna

    from thomax.integrations.optuna import ThomaxSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    wait = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    policy = tx.STOBNTSLinear(tx.MLP(1, 8, "erf"), noise_std=0.1)
    return optuna.create_study(
        storage=optuna.storages.RDBStorage(url, engine_kwargs=wait),
        study_name="shared",
        load_if_exists=True,
        sampler=ThomaxSampler(policy=policy, seed=0, n_startup_trials=startup),
    )


def _work(url: str, receipts: Path, seed: int) -> None:
    rng, log = random.Random(seed), Receipts(receipts)
    study = _study(url, _ENDLESS)
    while True:
        trial = study.ask(_distributions())
        log.add(asked=trial.number, x=trial.params["x"])
        value = rng.gauss(0, 1)
        study.tell(trial, value)
        log.add(told=trial.number, value=value)


def _distributions() -> dict[str, Any]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    return {"x": FloatDistribution(-1, 1), "c": CategoricalDistribution(["é", "b", "c"])}


def _reopen(part: Part, url: str, folder: Path, where: str) -> float:
    """Open the study, go on with it, compare it with the receipts; return how long it took."""
    begin = time.perf_counter()
    study = _study(url, _ENDLESS)
    trial = study.ask(_distributions())
    seconds = time.perf_counter() - begin
    study.tell(trial, 0.25)
    part.check(seconds < _SOON, f"opening and asking took {seconds:.1f} s in {where}")
    trials = {t.number: t for t in study.trials}
    given = Counter(r["asked"] for r in receipts_in(folder) if "asked" in r)
    given.update([trial.number])
    twice = [n for n, count in given.items() if count > 1]
    part.check(not twice, f"numbers {twice} were given twice in {where}")
    lost = [
        r
        for r in receipts_in(folder)
        if ("told" in r and trials[r["told"]].value != r["value"])
        or ("asked" in r and trials[r["asked"]].params.get("x") != r["x"])
    ]
    part.check(not lost, f"{lost[:3]} were seen returning but are not in the study in {where}")
    return seconds


def _ask_a_model(part: Part, url: str, folder: Path, where: str) -> None:
    """Let the sampler learn from what was told, beside trials that nobody evaluates any more."""
    study = _study(url, startup=4)
    number = study.ask(_distributions()).number
    why = study.trials[number].system_attrs.get("thomax:fallback")
    part.check(why is None, f"the model failed on what was told in {where}: {why}")
    Receipts(folder / "model.receipts").add(asked=number, x=study.trials[number].params["x"])
