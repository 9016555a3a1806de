"""Run every policy on the paper's 1-D synthetic problem and draw its Figure 1 (a-c).

The function is a draw from a Gaussian process (squared exponential, length scale 0.1) on a grid of
1,000 points. The figure shows 100 acquisition functions of Deep Ensemble, STO-BNTS and
STO-BNTS-Linear on the same data; the table shows the regret of every policy after some queries.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import thomax as tx
from thomax.model.kernels import SE, float64

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("figure_1.png"))
parser.add_argument("--trials", type=int, default=30)
parser.add_argument("--draws", type=int, default=100)
options = parser.parse_args()

grid = np.linspace(0, 1, 1000)[:, None]
with float64():
    K = np.asarray(SE(length_scale=0.1)(grid, grid))
values = np.linalg.cholesky(K + 1e-8 * np.eye(1000)) @ np.random.default_rng(3).normal(size=1000)

network = tx.MLP(depth=8, width=64, activation="erf", w_std=1.5, b_std=0.05)  # the paper's
seen = np.array([20, 60, 110, 160, 420, 470, 650, 720, 800, 960])
points = 2 * grid - 1
data = tx.Data(points[seen], values[seen])
figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), sharey=True, layout="constrained")
spread = {}
for axis, policy in zip(axes, (tx.DeepEnsemble, tx.STOBNTS, tx.STOBNTSLinear), strict=True):
    draws = policy(network)(tx.make_keys(0, options.draws), data)(points)
    axis.plot(grid, draws.T, color="tab:blue", lw=0.5, alpha=0.3)
    axis.plot(grid, values, color="black", lw=1)
    axis.plot(grid[seen], values[seen], "*", color="tab:red", ms=9)
    axis.set(title=policy.__name__, xlabel="x", ylim=(-5, 5))
    spread[policy.__name__] = round(float(draws[:, 200:400].std(axis=0).mean()), 3)
figure.savefig(options.output, dpi=110)
print("spread of the draws in the unobserved interval [0.2, 0.4]:", spread)

print(f"regret after {options.trials} queries, of which 5 random:")
pool = tx.Pool(grid)
policies = [
    tx.STOBNTS(network), tx.STOBNTSLinear(network), tx.STOBNTS(), tx.STOBNTSLinear(),
    tx.DeepEnsemble(network), tx.GPTS(), tx.GPUCB(), tx.NeuralTS(network), tx.NeuralUCB(network),
    tx.Random(), tx.Sobol(),
]  # fmt: skip
for policy in policies:
    optimizer = tx.Optimizer(pool, policy, seed=0, initial=5)
    optimizer.run(lambda p: values[p["index"]], options.trials, progress=False)
    deep = " (depth 8, width 64)" if getattr(policy, "network", None) == network else ""
    print(f"{type(policy).__name__ + deep:>36}: {values.max() - optimizer.best.value:.4f}")
print(f"wrote {options.output}")
