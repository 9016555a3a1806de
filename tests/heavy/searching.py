"""A Ray searcher that is quick to test, and its twin without Ray."""

import pytest
from ray import tune

from thomax import MLP, Float, Int, Optimizer, Search, STOBNTSLinear
from thomax.integrations.ray import ThomaxSearch

# Ray and its dependencies warn about themselves.
RAYS_OWN_WARNINGS = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

POLICY = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
QUICK = Search(candidates=200, restarts=3)
SPACE = {"x": tune.uniform(-1, 1), "net": {"width": tune.randint(1, 5)}}
PLAIN = {"x": Float(-1, 1), "net/width": Int(1, 4)}  # the same, as the optimiser sees it


def search_of(space=None, **options):
    settings = {"metric": "loss", "mode": "min", "seed": 0, "initial": 3} | options
    space = SPACE if space is None else space
    return ThomaxSearch(space, policy=POLICY, search=QUICK, **settings)


def plain_optimizer(**options):
    settings = {"direction": "minimize", "seed": 0, "initial": 3, "search": QUICK} | options
    return Optimizer(PLAIN, POLICY, **settings)


def loss(config):
    return (config["x"] - 0.3) ** 2 + config["net"]["width"] / 100


def flat(config):
    return {"x": config["x"], "net/width": config["net"]["width"]}


def evaluate(search, names):
    """Suggest, evaluate and complete one trial after the other."""
    for name in names:
        config = search.suggest(name)
        search.on_trial_complete(name, {"loss": loss(config)})


def states(search):
    return [t.state for t in search.optimizer.trials]
