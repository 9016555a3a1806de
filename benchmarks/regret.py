"""Does the regret of the theorem's algorithm grow sublinearly, and is it below the bound?

The objective is a draw from the tangent kernel's prior on 500 points of a square, which the
network (one hidden layer, erf) sees on a sphere; the noise is a tenth of the prior's standard
deviation. `theorem_settings` gives initial stage and beta_t; then come 10,000 evaluations in
batches of 1, 4 and 16, each at the maximum of an independent draw from the posterior, repeats and
all. Beside beta_t the same with beta = 1.

Judged is the slope of log R_T over log T in the last half of the evaluations after the initial
stage: growth is sublinear if the upper end of its 95 % interval over seeds is below 1. Results go
to `benchmarks/results/regret.json`, the page and the figure are written from there.

Notation (regrets in standard deviations of the prior):
    Phi    features of the points, K = Phi Phi^T                     (N, r)
    P, b   precision of their weights and P times the mean           (r, r), (r,)
    R_T    cumulative regret of T evaluations after the initial stage
"""

import argparse
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process on each core

import numpy as np
import scipy.linalg
import scipy.stats

import thomax as tx
from benchmarks.paper.plots import plotting, save
from benchmarks.runner import in_processes
from thomax import theory
from thomax.model.kernels import gram

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "regret.json"
PAGE = ROOT.parent / "docs" / "research" / "regret.md"
FIGURE = ROOT.parent / "docs" / "images" / "regret.svg"
BEGIN, END = "<!-- benchmarks/regret.py -->", "<!-- end -->"
NETWORK = tx.MLP(1, math.inf, "erf")
POINTS, NOISE, DELTA, C = 500, 0.1, 0.1, 1.0
HORIZON, SEEDS, BATCHES, BETAS = 10_000, 20, (1, 4, 16), ("theorem", "1")
QUICK_HORIZON, QUICK_SEEDS = 2000, 3
_SMALLEST = 1e-10  # eigenvalues of K, relative to the largest: less is rounding


@dataclass(frozen=True)
class Setting:
    """The theorem's algorithm on a finite set.

    Args:
        features: Phi, scaled to a prior variance of at most 1, (N, r).
        noise_std: Standard deviation of the noise on that scale.
        first: The points of the initial stage, in their order.
        beta: What multiplies the posterior's deviation, by the number of observations.
        gains: Greedy information gains of 1, 2, ... observations.
    """

    features: np.ndarray
    noise_std: float
    first: np.ndarray
    beta: Callable[[int], float]
    gains: np.ndarray


@cache
def setting(batch: int, horizon: int) -> Setting:
    """Return what `theorem_settings` asks for on a random finite subset of the square."""
    pool = tx.Pool(np.random.default_rng(0).uniform(-1, 1, (POINTS, 2)))
    x = np.asarray(pool.at(np.arange(POINTS)), np.float64)
    K = gram(tx.STOBNTSLinear(NETWORK).prior_kernel(pool.shape), x, x)
    largest = math.sqrt(K.max())
    settings = tx.theorem_settings(
        pool, horizon, batch=batch, noise_std=NOISE * largest, delta=DELTA, C=C, network=NETWORK
    )
    K = K / largest**2
    eigenvalues, vectors = np.linalg.eigh(K)
    kept = eigenvalues > _SMALLEST * eigenvalues[-1]
    features = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    length = settings["initial"].length
    gains, chosen = greedy(features, NOISE**2, max(horizon, length))
    return Setting(features, NOISE, chosen[:length], settings["policy"].beta, gains)


def greedy(Phi: np.ndarray, s2: float, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what `theory.greedy_information_gain` does, for long horizons in little memory."""
    S = np.eye(Phi.shape[1])  # posterior covariance of the weights
    variance = np.square(Phi).sum(axis=1)
    gains, chosen = np.zeros(horizon), np.zeros(horizon, dtype=int)
    for t in range(horizon):
        i = chosen[t] = int(variance.argmax())
        gains[t] = 0.5 * math.log1p(variance[i] / s2)
        c = S @ Phi[i] / math.sqrt(variance[i] + s2)
        S -= np.outer(c, c)
        variance = np.maximum(variance - (Phi @ c) ** 2, 0)
    return np.cumsum(gains), chosen


def regrets(
    made: Setting, beta: Callable[[int], float], batch: int, horizon: int, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Run the algorithm on a function drawn from the prior.

    Returns:
        The regrets of the initial stage, those of the evaluations after it, and the largest |f|.
    """
    rng = np.random.default_rng([seed, batch])
    Phi, s2 = made.features, made.noise_std**2
    r = Phi.shape[1]
    f = Phi @ np.random.default_rng(seed).standard_normal(r)  # the same for all batches
    P, b = np.eye(r), np.zeros(r)
    chosen: list[int] = []

    def observe(points: np.ndarray) -> None:
        rows = Phi[points]
        values = f[points] + made.noise_std * rng.standard_normal(len(points))
        P[:] += rows.T @ rows / s2
        b[:] += rows.T @ values / s2
        chosen.extend(points.tolist())

    observe(made.first)
    while len(chosen) < len(made.first) + horizon:
        points = draws(P, b, Phi, beta(len(chosen)), rng, batch).argmax(axis=0)
        observe(points)
    lost = f.max() - f[chosen]
    count = len(made.first)
    return lost[:count], lost[count : count + horizon], float(np.abs(f).max())


def draws(
    P: np.ndarray,
    b: np.ndarray,
    Phi: np.ndarray,
    beta: float,
    rng: np.random.Generator,
    count: int,
) -> np.ndarray:
    """Return draws from the posterior at all points, their deviation times beta, (N, count)."""
    factor = scipy.linalg.cholesky(P, lower=True, check_finite=False)
    mean = scipy.linalg.cho_solve((factor, True), b, check_finite=False)
    z = rng.standard_normal((len(b), count))
    around = scipy.linalg.solve_triangular(factor, z, lower=True, trans="T", check_finite=False)
    return Phi @ (mean[:, None] + beta * around)


def run(job: tuple[str, int, int, int]) -> dict[str, Any]:
    """Return the record of one run: regrets, slope and bound."""
    name, batch, horizon, seed = job
    made = setting(batch, horizon)
    beta = made.beta if name == "theorem" else (lambda n: 1.0)
    first, lost, largest = regrets(made, beta, batch, horizon, seed)
    total = np.cumsum(lost)
    steps = recorded_steps(horizon)
    return {
        "beta": name, "batch": batch, "seed": seed, "initial": len(first),
        "initial_regret": rounded(first.sum()), "slope": rounded(slope(total)),
        "regret": [rounded(v) for v in total[steps - 1]], "largest": rounded(largest),
    }  # fmt: skip


def rounded(value: float) -> float:
    return float(f"{value:.5g}")


def recorded_steps(horizon: int) -> np.ndarray:
    return np.unique(np.geomspace(10, horizon, 40).round().astype(int))


def slope(total: np.ndarray) -> float:
    """Return the slope of log R_T over log T in the last half, 0 without any regret."""
    T = np.arange(1, len(total) + 1)
    used = (len(total) // 2 < T) & (total > 0)
    return float(np.polyfit(np.log(T[used]), np.log(total[used]), 1)[0]) if used.any() else 0.0


def bound(batch: int, horizon: int, largest: float, T: int) -> float:
    """Return the bound of Theorem 1 on the regret of T evaluations and of the initial stage."""
    made = setting(batch, horizon)
    gamma = made.gains[T - 1] / (1 - 1 / math.e)  # greedy gains may be so much smaller
    return theory.regret_bound(
        T, float(gamma), math.log(POINTS), DELTA, NOISE, largest, C=C if batch > 1 else 0.0,
        initial=len(made.first),
    )  # fmt: skip


def summarised(records: list[dict[str, Any]], horizon: int) -> list[dict[str, Any]]:
    """Return a row for each beta and batch: growth, regret, and its share of the bound."""
    rows = []
    for name in BETAS:
        for batch in BATCHES:
            runs = [r for r in records if (r["beta"], r["batch"]) == (name, batch)]
            slopes = np.array([r["slope"] for r in runs])
            half = scipy.stats.t.ppf(0.975, len(runs) - 1) * scipy.stats.sem(slopes)
            shares = [
                (r["initial_regret"] + r["regret"][-1])
                / bound(batch, horizon, r["largest"], horizon)
                for r in runs
            ]
            trivial = [
                bound(batch, horizon, r["largest"], horizon)
                / (2 * r["largest"] * (horizon + r["initial"]))
                for r in runs
            ]
            rows.append({
                "beta": name, "batch": batch, "seeds": len(runs), "initial": runs[0]["initial"],
                "slope": rounded(slopes.mean()),
                "interval": [rounded(slopes.mean() - half), rounded(slopes.mean() + half)],
                "sublinear": bool(slopes.mean() + half < 1),
                "initial_regret": rounded(np.mean([r["initial_regret"] for r in runs])),
                "regret": rounded(np.mean([r["regret"][-1] for r in runs])),
                "largest_share_of_bound": rounded(max(shares)),
                "bound_over_trivial": rounded(float(np.mean(trivial))),
            })  # fmt: skip
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows in Markdown."""
    head = [
        "β", "B", "T_init", "regret of the initial stage", "R_T", "slope of log R_T, 95 %",
        "sublinear", "largest share of the bound", "bound / trivial bound",
    ]  # fmt: skip
    lines = [head, ["---"] * len(head)]
    for row in rows:
        low, high = row["interval"]
        lines.append([
            "β_t" if row["beta"] == "theorem" else "1", str(row["batch"]), str(row["initial"]),
            f"{row['initial_regret']:.0f}", f"{row['regret']:.0f}",
            f"{row['slope']:.2f} [{low:.2f}, {high:.2f}]", "yes" if row["sublinear"] else "no",
            f"{row['largest_share_of_bound']:.1e}", f"{row['bound_over_trivial']:,.0f}",
        ])  # fmt: skip
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page_with(found: dict[str, Any]) -> str:
    """Return the page with these results in it."""
    text = PAGE.read_text("utf-8")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    return f"{head}{BEGIN}\n{table(found['rows'])}\n{END}{tail}"


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw regrets, the bound and the trivial one over T."""
    horizon = found["horizon"]
    steps = recorded_steps(horizon)
    with plotting() as plt:
        fig, axis = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
        for batch, colour in zip(BATCHES, ("tab:blue", "tab:orange", "tab:green"), strict=True):
            for name, style in zip(BETAS, ("-", "--"), strict=True):
                runs = [r for r in found["runs"] if (r["beta"], r["batch"]) == (name, batch)]
                curves = np.array([r["regret"] for r in runs])
                label = f"B = {batch}, β = {'β_t' if name == 'theorem' else 1}"
                axis.plot(steps, curves.mean(axis=0), style, color=colour, label=label)
            largest = float(np.mean([r["largest"] for r in runs]))
            limits = [bound(batch, horizon, largest, int(T)) for T in steps]
            axis.plot(steps, limits, ":", color=colour, label=f"B = {batch}, bound")
        axis.plot(steps, 2 * largest * steps, color="grey", lw=1, label="trivial bound 2B'T")
        axis.set(xscale="log", yscale="log", xlabel="T", ylabel="cumulative regret")
        fig.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
        axis.grid(alpha=0.25)
        save(fig, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few seeds, a fifth of the horizon")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    horizon, seeds = (QUICK_HORIZON, QUICK_SEEDS) if options.quick else (HORIZON, SEEDS)
    jobs = [(n, b, horizon, s) for s in range(seeds) for n in BETAS for b in BATCHES]
    runs = sorted(
        in_processes(run, jobs, options.workers),
        key=lambda r: (r["beta"], r["batch"], r["seed"]),
    )
    rows = summarised(runs, horizon)
    found = {"horizon": horizon, "seeds": seeds, "rows": rows, "runs": runs}
    if not options.quick:
        RESULTS.write_text(json.dumps(found, indent=0) + "\n", "utf-8")
        PAGE.write_text(page_with(found), "utf-8")
        draw(found, FIGURE)
    print(table(rows))
    print(json.dumps({
        "sublinear": sum(row["sublinear"] for row in rows), "rows": len(rows), "seeds": seeds,
        "slopes": {f"{row['beta']}@{row['batch']}": row["slope"] for row in rows},
        "largest_share_of_bound": max(row["largest_share_of_bound"] for row in rows),
        "quick": options.quick,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
