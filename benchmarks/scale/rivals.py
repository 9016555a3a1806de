"""A batch of four on the same history: ours, Optuna's samplers, BoTorch's pathwise draws."""

import importlib.util
import os

import optuna

from benchmarks.scale.asks import history, our_asks
from benchmarks.scale.timing import timed
from thomax.integrations.optuna_studies import distributions as distributions_of
from thomax.space.space import Space


def measure_rivals(n, d, batch):
    threads = {1, os.cpu_count()} if n > 300 else {1}
    found = {"thomax": timed(our_asks(n, d, batch)[1], 9)}
    tpe, gp = optuna.samplers.TPESampler(seed=0), optuna.samplers.GPSampler(seed=0)
    found["TPESampler"] = timed(optunas(tpe, n, d, batch), 3)
    found["GPSampler"] = with_best_threads(threads, optunas(gp, n, d, batch))
    if importlib.util.find_spec("botorch") is None:
        print("BoTorch is not installed, so its row is left out: pip install botorch", flush=True)
    else:
        found["BoTorch pathwise"] = with_best_threads(threads, botorchs(n, d, batch))
    return found


def with_best_threads(counts, ask):
    """Time an ask with each of these numbers of PyTorch's threads: the fastest counts."""
    import torch

    found = []
    for count in counts:
        torch.set_num_threads(count)
        found.append({"threads": count, **timed(ask, 3)})
    return min(found, key=lambda row: row["wall_s"])


def optunas(sampler, n, d, batch):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space, points, values = history(n, d)
    distributions = distributions_of(Space(space).describe())
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials(
        [
            optuna.trial.create_trial(params=params, distributions=distributions, value=value)
            for params, value in zip(points, values, strict=True)
        ]
    )

    def ask():
        trials = [study.ask(distributions) for _ in range(batch)]
        for trial in trials:  # failed trials are forgotten: the history stays n long
            study.tell(trial, state=optuna.trial.TrialState.FAIL)

    return ask


def botorchs(n, d, batch):
    from benchmarks.rivals.botorch import thompson

    space, points, values = history(n, d)
    rival = thompson(Space(space), seed=0)
    for params, value in zip(points, values, strict=True):
        rival.tell(params, value)
    return lambda: rival.ask(batch)
