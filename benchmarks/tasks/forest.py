"""Tune a random forest on the Pima diabetes data: six discrete hyperparameters, 28,800 settings.

All settings are evaluated once and kept as a table, so that regret is exact. Growing 28,800
forests would take hours. We grow one forest for each setting of the four hyperparameters that
shape every split, as deep as any setting wants it, and cut its trees for the other two: a node at
`max_depth`, or with fewer than `min_samples_split` samples, becomes a leaf. A forest grown for
that setting stops at just such nodes, and above them splits by the same rule. It only meets other
random numbers, as subtrees that are not grown use none: so a cut forest is one draw of the same
random algorithm, and settings share their random numbers, which makes them better comparable.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks.tasks.datasets import Dataset, cached, pima
from benchmarks.tasks.problem import Params, Problem, needs
from thomax.space.parameters import Bool, Categorical, Int
from thomax.space.space import Space

Array = NDArray[Any]
Settings = dict[str, Any]

TRAINING_SHARE = 0.7
SPLIT_SEED = FOREST_SEED = 0
DEPTHS, SPLITS = range(1, 11), range(2, 11)  # cut afterwards
GROWN = {
    "min_samples_leaf": range(1, 11),
    "max_features": range(1, 9),
    "criterion": ("gini", "entropy"),
    "bootstrap": (False, True),
}


def forest(trees: int = 100) -> Problem:
    """Return the problem of the validation accuracy; the first call takes a minute or two."""
    _classifier()
    dataset = pima("forest")
    name = "-".join(["forest", str(trees), *dataset.name.lower().split()])
    accuracies = cached(name, lambda: {"accuracies": table(dataset, trees)})["accuracies"]

    def judge(params: Params) -> float:
        cut = DEPTHS.index(params["max_depth"]), SPLITS.index(params["min_samples_split"])
        grown = [values.index(params[name]) for name, values in GROWN.items()]
        return float(accuracies[(*grown, *cut)])

    return Problem(
        "forest",
        Space({
            "max_depth": Int(1, 10),
            "min_samples_split": Int(2, 10),
            "min_samples_leaf": Int(1, 10),
            "max_features": Int(1, 8),
            "criterion": Categorical(GROWN["criterion"]),
            "bootstrap": Bool(),
        }),
        lambda params, rng: judge(params),
        judge,
        float(accuracies.max()),
        initial=5,
        data=dataset.name,
    )  # fmt: skip


def table(dataset: Dataset, trees: int) -> Array:
    """Evaluate all settings; axes are those of `GROWN`, then the depths, then the splits."""
    from sklearn.utils.parallel import Parallel, delayed

    settings = [
        dict(zip(GROWN, values, strict=True)) for values in itertools.product(*GROWN.values())
    ]
    parts = split(dataset)
    done = Parallel(n_jobs=-1, return_as="generator")(
        delayed(cut_accuracies)(parts, one, trees) for one in settings
    )
    rows = [*tqdm(done, total=len(settings), desc="random forests", unit="forest", disable=None)]
    lengths = [len(values) for values in GROWN.values()]
    return np.reshape(rows, (*lengths, len(DEPTHS), len(SPLITS)))


def split(dataset: Dataset) -> tuple[Array, Array, Array, Array]:
    """Split at random into inputs and classes for training, then those for validation."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(dataset.y))
    n = round(TRAINING_SHARE * len(order))
    x = dataset.x.astype(np.float32)  # as the trees see it
    return x[order[:n]], dataset.y[order[:n]], x[order[n:]], dataset.y[order[n:]]


def cut_accuracies(
    parts: tuple[Array, Array, Array, Array],
    settings: Settings,
    trees: int,
    seed: int = FOREST_SEED,
) -> Array:
    """Grow one forest and return its validation accuracies, cut for all depths and splits."""
    x, y, x_validation, y_validation = parts
    grown = _classifier()(trees, max_depth=max(DEPTHS), random_state=seed, **settings)
    grown.fit(x, y)
    probabilities = sum(_cut(tree.tree_, x_validation) for tree in grown.estimators_)
    return np.mean(np.argmax(probabilities, axis=-1) == y_validation, axis=-1)


def _cut(tree: Any, x: Array) -> Array:
    """Return a tree's class probabilities when cut, for (depth, split, row, class)."""
    nodes = np.stack([*_descend(tree, x)])
    samples = tree.n_node_samples[nodes]
    # Samples only decrease on the way down, so counting large nodes finds the first small one.
    stops = [np.sum(samples[:-1] >= split, axis=0) for split in SPLITS]
    depths = np.minimum(np.reshape(DEPTHS, (-1, 1, 1)), stops)
    return tree.value[nodes[depths, np.arange(len(x))], 0]


def _descend(tree: Any, x: Array) -> Iterator[Array]:
    """Walk from the root: the nodes of all rows at depths 0, 1, ...; a leaf is not left again."""
    rows, node = np.arange(len(x)), np.zeros(len(x), dtype=np.intp)
    yield node
    for _ in DEPTHS:
        feature = np.maximum(tree.feature[node], 0)  # a leaf has none
        goes_left = x[rows, feature] <= tree.threshold[node]
        child = np.where(goes_left, tree.children_left[node], tree.children_right[node])
        node = np.where(child < 0, node, child)
        yield node


def _classifier() -> Any:
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        raise needs("scikit-learn", "forest") from None
    return RandomForestClassifier
