"""Draw twenty functions from the posterior of each algorithm, on a 1-D example, and plot them."""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from thomax import MLP, STOBNTS, Data, STOBNTSLinear, make_keys
from thomax.model.kernels import exact_ntk, float64
from thomax.model.posterior import mean_and_covariance

network = MLP(depth=2, width=512, activation="erf", w_std=2.5)
x = np.array([-0.9, -0.7, -0.45, 0.1, 0.2, 0.65, 0.8])
data = Data(x[:, None], np.sin(5 * x) + 0.3 * x)
grid = np.linspace(-1, 1, 300)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--output", type=Path, default=Path("posterior_draws.png"))
output = parser.parse_args().output

# The law that the draws must follow: the Gaussian process with the exact tangent kernel.
with float64():
    kernel, at, new = exact_ntk(network), x[:, None], grid[:, None]
    K, k, prior = (np.asarray(kernel(a, b)) for a, b in ((at, at), (at, new), (new, new)))
mean, covariance = mean_and_covariance(K, k, prior, data.y, noise_std=0.1)
deviation = np.sqrt(np.diag(covariance))

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
titles = ("STO-BNTS-Linear (Algorithm 2)", "STO-BNTS (Algorithm 1)")
for axis, policy, title in zip(axes, (STOBNTSLinear, STOBNTS), titles, strict=True):
    draws = policy(network, noise_std=0.1, inputs="cube", standardise=False)(
        make_keys(0, 20), data
    )
    values = draws(grid[:, None])
    axis.fill_between(
        grid,
        mean - 2 * deviation,
        mean + 2 * deviation,
        color="0.9",
        label="exact posterior, 2 sd",
    )
    axis.plot(grid, values.T, color="tab:blue", alpha=0.45, lw=0.9)
    axis.plot(grid, mean, color="black", lw=1.2, label="exact posterior mean")
    best = grid[values.argmax(axis=1)]
    axis.plot(best, values.max(axis=1), "v", color="tab:orange", ms=5, label="maxima: the batch")
    axis.plot(x, data.y, "*", color="tab:red", ms=10, label="observations")
    axis.set(title=title, xlabel="x")
    inside = np.mean(np.abs(values - mean) < 2 * deviation)
    print(f"{title}: {inside:.1%} of the values lie within two posterior standard deviations")
axes[0].legend(fontsize=8, loc="upper left")
figure.savefig(output, dpi=110)
print(f"wrote {output}")
