"""Design a sequence of six letters whose parts interact: 4,096 designs, 48 of them tried.

The space is finite, so every draw is maximised exactly and no design is proposed twice.
"""

import numpy as np

import thomax as tx

LETTERS, LENGTH = "ACGT", 6
rng = np.random.default_rng(1)
SINGLE = rng.normal(size=(LENGTH, 4))
PAIRS = 0.7 * rng.normal(size=(LENGTH - 1, 4, 4))  # neighbours interact


def strength(p):
    codes = [LETTERS.index(p[f"site{i}"]) for i in range(LENGTH)]
    pairs = sum(PAIRS[i, codes[i], codes[i + 1]] for i in range(LENGTH - 1))
    return sum(SINGLE[i, code] for i, code in enumerate(codes)) + pairs


space = tx.Space({f"site{i}": tx.Categorical([*LETTERS]) for i in range(LENGTH)})
optimizer = tx.Optimizer(space, seed=0)
for _ in range(12):
    for trial in optimizer.ask(4):
        optimizer.tell(trial, strength(trial.params))

every = np.array([strength(p) for p in space.params(range(int(space.size)))])
best = optimizer.best
print("design", "".join(best.params.values()), f"strength {best.value:.2f}")
print(f"{(every > best.value).sum()} of {len(every)} designs are better")
