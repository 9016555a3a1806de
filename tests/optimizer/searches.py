"""Small searches whose proposals take milliseconds."""

from thomax import MLP, Categorical, Float, Int, Optimizer, Search, STOBNTSLinear

POLICY = STOBNTSLinear(MLP(1, 32, "erf"), noise_std=0.1)
SQUARE = {"x": Float(-1, 1), "y": Float(-1, 1)}
GRID = {"a": Categorical(["p", "q", "r", "s"]), "b": Int(0, 9)}


SEARCH = Search(candidates=200, restarts=3)


def optimizer(space=None, policy=POLICY, **options):
    settings = {"seed": 0, "initial": 4, "search": SEARCH} | options
    return Optimizer(SQUARE if space is None else space, policy, **settings)


def hill(params):
    return 1 - (params["x"] - 0.3) ** 2 - (params["y"] + 0.5) ** 2


def told(count=6, objective=hill, **options):
    """Return an optimiser that has been told some values."""
    found = optimizer(**options)
    for _ in range(count):
        trial = found.ask()
        found.tell(trial, objective(trial.params))
    return found


def params_of(trials):
    return [t.params for t in trials]
