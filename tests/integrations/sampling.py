"""A sampler that is quick to test, and studies made with it."""

import optuna
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from thomax import MLP, Search, STOBNTSLinear
from thomax.integrations.optuna import ThomaxSampler

POLICY = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
SEARCH = Search(candidates=200, restarts=3, restarts_per_draw=2)
X = FloatDistribution(-1, 1)


def quick(**options):
    return ThomaxSampler(**{"policy": POLICY, "search": SEARCH, "seed": 0} | options)


def study_of(sampler, **options):
    return optuna.create_study(sampler=sampler, **options)


def ran(objective, n=12, direction="minimize", storage=None, **options):
    study = study_of(quick(**options), direction=direction, storage=storage)
    study.optimize(objective, n_trials=n, catch=(ZeroDivisionError,))
    return study


def bowl(trial):
    return (trial.suggest_float("x", -1, 1) - 0.3) ** 2 + (trial.suggest_int("k", 0, 9) - 4) ** 2


def params_of(study):
    return [t.params for t in study.trials]


def finished(state=TrialState.COMPLETE, value=1.0, **options):
    return create_trial(
        state=state, value=value, params={"x": 0.5}, distributions={"x": X}, **options
    )


def counting():
    calls = []

    def policy(key, data):
        calls.append(len(key))
        return POLICY(key, data)

    return policy, calls
