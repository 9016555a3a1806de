"""Find, among 1,797 pictures of digits, the one that looks most like a three.

The judge stands for a person who rates pictures one by one. The surrogate is a convolutional
network that is trained anew for every draw. Needs scikit-learn: pip install "thomax[sklearn]"
"""

from sklearn.datasets import load_digits
from sklearn.svm import SVC

import thomax as tx

digits = load_digits()
images = digits.images.astype("uint8")  # (1797, 8, 8)
judge = SVC(gamma=0.001).fit(digits.data, digits.target == 3)
RATING = judge.decision_function(digits.data)

optimizer = tx.Optimizer(tx.Pool(images), tx.STOBNTS(tx.CNN(width=16)), seed=0, initial=12)
for _ in range(9):
    for trial in optimizer.ask(4):
        optimizer.tell(trial, float(RATING[trial.params["index"]]))

best = optimizer.best
for row in images[best.params["index"]]:
    print("".join(" .:-=+*#%@"[min(v // 2, 9)] for v in row))
higher = int((best.value < RATING).sum())
print(f"rating {best.value:.2f}; {higher} of {len(images)} are rated higher")
print("it is a", digits.target[best.params["index"]])
