"""Tune a mixed, conditional space in batches of four that need one fit each."""

import math

import optuna
import optunahub

ThomaxSampler = optunahub.load_module("samplers/thomax").ThomaxSampler


def objective(trial: optuna.Trial) -> float:
    """Return the loss of a pretended training."""
    rate = trial.suggest_float("rate", 1e-5, 1, log=True)
    loss = (math.log10(rate) + 2) ** 2
    if trial.suggest_categorical("optimiser", ["adam", "sgd"]) == "sgd":
        return loss + (trial.suggest_float("momentum", 0, 1) - 0.9) ** 2
    return loss + 0.1


if __name__ == "__main__":
    study = optuna.create_study(sampler=ThomaxSampler(seed=0, batch=4))
    study.optimize(objective, n_trials=30)
    print(study.best_params, study.best_value)
