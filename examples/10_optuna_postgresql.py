"""Two worker processes on one Optuna study, with suggestions by thomax.

    python 10_optuna_postgresql.py postgresql+psycopg2://user:password@host/database

Without an address it uses a SQLite file. Needs Optuna: pip install "thomax[optuna]"
"""

import multiprocessing
import sys

import optuna

from thomax.integrations.optuna import ThomaxSampler

STORAGE = sys.argv[1] if len(sys.argv) > 1 else "sqlite:///study.db"


def objective(trial):
    x = trial.suggest_float("x", -5, 5)
    y = trial.suggest_float("y", 1e-3, 1e3, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    return (x - 2) ** 2 + abs(y - 1) ** 0.5 + {"a": 1.0, "b": 0.0, "c": 2.0}[kind]


def work(storage, seed):
    """Do a share of the trials; start as many of these as you have machines."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(study_name="shop", storage=storage, sampler=ThomaxSampler(seed=seed))
    study.optimize(objective, n_trials=15)


if __name__ == "__main__":
    study = optuna.create_study(study_name="shop", storage=STORAGE, load_if_exists=True)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(STORAGE, seed)) for seed in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{len(study.trials)} trials, best {study.best_value:.4f} at {study.best_params}")
