"""Choose alloys from a table of 5,000 candidates with known composition, 40 of them measured.

Needs pandas: pip install "thomax[table]"
"""

import numpy as np
import pandas as pd

import thomax as tx

rng = np.random.default_rng(0)
shares = rng.dirichlet([4, 2, 1, 1], size=5000)
TABLE = pd.DataFrame(shares, columns=["iron", "nickel", "chromium", "copper"])
TABLE["treatment"] = rng.choice(["none", "annealed", "quenched"], len(TABLE))
TABLE["temperature"] = rng.uniform(200, 900, len(TABLE))

# A stand-in for the laboratory: which treatment is best depends on the composition.
warm = (TABLE.temperature - 500) / 200
STRENGTH = 300 + 200 * np.sqrt(TABLE.nickel * TABLE.chromium) - 30 * warm**2 - 50 * TABLE.copper
STRENGTH += TABLE.treatment.map({"none": 0.0, "annealed": 20.0, "quenched": 60.0}) * TABLE.iron

optimizer = tx.Optimizer(tx.Pool(TABLE), seed=0)
for _ in range(10):
    for trial in optimizer.ask(4):
        optimizer.tell(trial, STRENGTH[trial.params["index"]])

best = optimizer.best
print(TABLE.loc[best.params["index"]].to_string())
print(f"strength {best.value:.1f}; {(best.value < STRENGTH).sum()} of 5000 are stronger")
