"""Tune a support vector machine on real data, and compare with its defaults.

Needs scikit-learn: pip install "thomax[sklearn]"
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import thomax as tx

X, y = load_breast_cancer(return_X_y=True)
SPACE = {
    "kernel": tx.Categorical(["rbf", "poly", "linear"]),
    "C": tx.Float(1e-3, 1e3, log=True),
    "gamma": tx.Float(1e-5, 1, log=True, when={"kernel": ["rbf", "poly"]}),
    "degree": tx.Int(2, 4, when={"kernel": "poly"}),
}


def accuracy(settings):
    model = make_pipeline(StandardScaler(), SVC(**settings))
    return cross_val_score(model, X, y, cv=5).mean()


found = tx.maximize(accuracy, SPACE, trials=24, batch=4, seed=0)
print(f"defaults: {accuracy({}):.4f}")
print(f"tuned:    {found.best.value:.4f} with {found.best.params}")
