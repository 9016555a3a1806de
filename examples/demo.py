"""Tune a classifier on real data: mixed and conditional parameters, four evaluations at a time.

The space holds two kinds of model with parameters of their own. Everything told is kept in a
journal: run the script again and it continues where it stopped.
"""

import argparse
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

import thomax as tx

SPACE = {
    "model": tx.Categorical(["trees", "boosting"]),
    "max_depth": tx.Int(2, 20),
    "min_samples_leaf": tx.Int(1, 30, log=True),
    "max_features": tx.Float(0.05, 1.0),
    "n_estimators": tx.Int(20, 200, step=20, when={"model": "trees"}),
    "criterion": tx.Categorical(["gini", "entropy", "log_loss"], when={"model": "trees"}),
    "bootstrap": tx.Bool(when={"model": "trees"}),
    "learning_rate": tx.Float(0.01, 1.0, log=True, when={"model": "boosting"}),
    "l2_regularization": tx.Float(1e-6, 10.0, log=True, when={"model": "boosting"}),
}
MODELS = {"trees": ExtraTreesClassifier, "boosting": HistGradientBoostingClassifier}


def accuracy(params):
    """Return the cross-validated accuracy of one configuration."""
    settings = dict(params)
    model = MODELS[settings.pop("model")](random_state=0, **settings)
    x, y = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return float(cross_val_score(model, x, y, cv=folds).mean())


def plot(optimizer, default, path):
    values = np.array([np.nan if t.value is None else t.value for t in optimizer.trials])
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    axis.plot(values, "o", color="0.7", ms=4, label="trials")
    axis.plot(np.fmax.accumulate(values), color="tab:blue", label="best so far")
    axis.axhline(default, color="tab:red", ls="--", label="best default configuration")
    axis.set(xlabel="evaluations", ylabel="cross-validated accuracy", title="thomax demo")
    axis.set_ylim(np.nanquantile(values, 0.1), None)
    axis.legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=48)
    parser.add_argument("--output", type=Path, default=Path("build"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    defaults = {name: accuracy({"model": name}) for name in MODELS}
    print("default configurations:", {name: round(value, 4) for name, value in defaults.items()})

    os.environ["OMP_NUM_THREADS"] = "1"  # four workers share the cores: one thread each
    with (
        tx.Optimizer(SPACE, seed=1, journal=options.output / "demo.jsonl") as optimizer,
        ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as workers,
    ):
        left = max(0, options.trials - len(optimizer.trials) + len(optimizer.pending))
        optimizer.run(accuracy, trials=left, batch=4, executor=workers)
        best, default = optimizer.best, max(defaults.values())
        print(f"best of {len(optimizer.trials)} trials: accuracy {best.value:.4f}", best.params)
        print(f"against {default:.4f} of the better default: {best.value - default:+.4f}")
        plot(optimizer, default, options.output / "demo.png")
    print(f"wrote {options.output / 'demo.png'} and {options.output / 'demo.jsonl'}")


if __name__ == "__main__":
    main()
