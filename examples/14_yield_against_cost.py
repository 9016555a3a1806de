"""A reaction with two aims and a limit: find the trade-offs, and draw the front."""

import argparse
import math
from pathlib import Path

import thomax as tx

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("front.png"))
options = parser.parse_args()

PRICES = {"Pd": 9.0, "Ni": 1.5, "Cu": 1.0}
ACTIVITY = {"Pd": 1.0, "Ni": 0.55, "Cu": 0.35}
SPACE = {
    "catalyst": tx.Categorical([*PRICES]),
    "load": tx.Float(0.5, 5),  # mol %
    "temperature": tx.Float(30, 120),
    "hours": tx.Float(1, 24),
}


def reaction(p):  # stands for the laboratory
    rate = ACTIVITY[p["catalyst"]] * p["load"] * math.exp((p["temperature"] - 80) / 30)
    yield_ = 1 - math.exp(-0.12 * rate * p["hours"])
    impurity = 0.0004 * rate * p["hours"] + 0.03 * ((p["temperature"] - 30) / 90) ** 4
    cost = PRICES[p["catalyst"]] * p["load"] + 0.4 * p["hours"]
    return {"yield": 100 * yield_ * (1 - impurity), "cost": cost, "impurity": impurity}


search = tx.optimize(
    reaction, SPACE, 48, batch=4, synchronous=True, seed=0, progress=False,
    objectives={"yield": "maximize", "cost": "minimize"}, limits={"impurity": "<= 0.02"},
)  # fmt: skip
front = sorted(search.front, key=lambda t: t.values["cost"])
for trial in front:
    print(f"{trial.values['yield']:5.1f} % for {trial.values['cost']:5.2f}:", trial.params)

import matplotlib.pyplot as plt  # noqa: E402 - after the search, which does without

kept = [t for t in search.trials if t.values["impurity"] <= 0.02]
missed = [t for t in search.trials if t.values["impurity"] > 0.02]
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for trials, marker, label in ((missed, "x", "too impure"), (kept, "o", "pure enough")):
    points = [[t.values[name] for t in trials] for name in ("cost", "yield")]
    axes.scatter(*points, marker=marker, color="0.65", label=label)
axes.step(
    *[[t.values[name] for t in front] for name in ("cost", "yield")],
    where="post", marker="o", color="C0", label="front",
)  # fmt: skip
axes.set(xlabel="cost of a batch", ylabel="yield in %")
axes.legend()
figure.savefig(options.output, dpi=150)
print("the picture is", options.output)
