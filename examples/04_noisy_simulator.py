"""Set the stock levels of a shop whose sales are random: every evaluation is noisy.

The best observed value flatters. `recommend` returns the point with the best posterior mean, and a
long simulation, which a real problem would not have, shows which of the two was right.
"""

import numpy as np

import thomax as tx

PRICE, COST, STORAGE = np.array([5.0, 8.0, 3.0]), np.array([2.0, 5.0, 1.0]), 0.4
DEMAND = np.array([30.0, 12.0, 50.0])
SPACE = {name: tx.Int(0, 100) for name in ("bread", "cake", "rolls")}


def profit(stock, days, rng):
    """Return the mean profit of some days, with Poisson demand."""
    amounts = np.array([stock[name] for name in SPACE])
    sold = np.minimum(amounts, rng.poisson(DEMAND, (days, 3)))
    return float((sold @ PRICE - amounts @ COST - STORAGE * (amounts - sold).sum(axis=1)).mean())


rng = np.random.default_rng(0)
optimizer = tx.Optimizer(SPACE, seed=0)
for _ in range(15):
    for trial in optimizer.ask(4):
        optimizer.tell(trial, profit(trial.params, days=1, rng=rng))

for name, trial in (("best observed", optimizer.best), ("recommended", optimizer.recommend())):
    truth = profit(trial.params, days=20_000, rng=rng)
    print(f"{name:14} {trial.params}  seen {trial.value:6.1f}  in truth {truth:6.1f}")
