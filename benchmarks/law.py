"""Compare the law of STO-BNTS's draws with the exact posterior, over widths of the network.

    python -m benchmarks.law

The paper's network (two hidden layers, ReLU, weights 1.5, biases 0.05) is trained on 20 noisy
values of a function of four variables (seed 0, noise 0.1); draws with the keys of seed 0 are
compared at 50 further points with the posterior of the exact tangent kernel. "mean" is the root
mean square, over points, of the distance of the draws' mean in posterior deviations, less what so
many draws leave by chance; "deviation" the draws' standard deviation over the posterior's: the
median over points, and the largest.
"""

import argparse
from dataclasses import replace

import numpy as np

from thomax import STOBNTS, Data, make_keys
from thomax.model import posterior
from thomax.model.kernels import exact_ntk, gram
from thomax.model.networks import PAPER_NETWORK

N, POINTS, D, NOISE_STD = 20, 50, 4, 0.1


def make_data() -> tuple[Data, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (N + POINTS, D))
    y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + x[:, 3] + NOISE_STD * rng.normal(size=len(x))
    y = (y - y[:N].mean()) / y[:N].std()
    return Data(x[:N], y[:N]), x[N:]


def exact(policy: STOBNTS, data: Data, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and deviations of the posterior at the points, in float64."""
    known = policy._prepared(data)
    new, kernel = known.prior.inputs(points.astype(np.float32)), exact_ntk(policy.network)
    x = known.observed
    K, k, prior = (gram(kernel, a, b) for a, b in ((x, x), (x, new), (new, new)))
    mean, covariance = posterior.mean_and_covariance(K, k, prior, known.targets, NOISE_STD)
    return mean, np.sqrt(np.diag(covariance))


def compare(width: int, draws: int) -> tuple[float, float, float]:
    data, points = make_data()
    policy = STOBNTS(replace(PAPER_NETWORK, width=width), noise_std=NOISE_STD, standardise=False)
    mean, deviation = exact(policy, data, points)
    values = policy(make_keys(0, draws), data)(points)
    squares = ((values.mean(axis=0) - mean) / deviation) ** 2
    ratios = values.std(axis=0, ddof=1) / deviation
    chance = np.mean(ratios**2) / draws
    off = float(np.sqrt(max(0.0, squares.mean() - chance)))
    return off, float(np.median(ratios)), float(ratios.max())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 256, 1024, 2048])
    parser.add_argument("--draws", type=int, default=256)
    options = parser.parse_args()
    print("| width | mean | deviation, median | deviation, largest |")
    print("|---|---|---|---|")
    for width in options.widths:
        off, median, largest = compare(width, options.draws)
        print(f"| {width} | {off:.2f} | {median:.2f} | {largest:.2f} |", flush=True)


if __name__ == "__main__":
    main()
