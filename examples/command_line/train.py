"""Print the cross-validated accuracy of a support vector machine on handwritten digits.

Nothing here knows of thomax: parameters are flags, and the last line printed is the value.
"""

import argparse

from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

parser = argparse.ArgumentParser()
parser.add_argument("--folds", type=int, default=5)
parser.add_argument("--C", type=float, default=1.0)
parser.add_argument("--kernel", default="rbf")
parser.add_argument("--gamma", type=float, default=1e-3)
parser.add_argument("--degree", type=int, default=3)
parser.add_argument("--shrinking", type=lambda text: text == "true", default=True)
settings = vars(parser.parse_args())
folds = settings.pop("folds")

x, y = load_digits(return_X_y=True)
scores = cross_val_score(SVC(**settings), x, y, cv=folds)
print("scores of the folds:", *scores.round(4))
print(scores.mean())
