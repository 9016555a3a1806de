"""Batch neural Thompson sampling for expensive black boxes.

Names are imported when they are first used: JAX takes a second, and the command line often does
without.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thomax.initial_design import UncertaintySampling
    from thomax.keys import make_key, make_keys
    from thomax.model.data import Data
    from thomax.model.kernels import NTK, SE, Matern52
    from thomax.model.networks import CNN, MLP, Custom
    from thomax.optimizer import Optimizer
    from thomax.policies.base import Policy
    from thomax.policies.ensemble import DeepEnsemble
    from thomax.policies.gp import GPTS, GPUCB
    from thomax.policies.neural import NeuralTS, NeuralUCB
    from thomax.policies.random import Random, Sobol
    from thomax.policies.sto import STOBNTS, STOBNTSLinear
    from thomax.prediction import Prediction
    from thomax.running.loop import StopReason
    from thomax.search.settings import Search
    from thomax.shortcuts import maximize, minimize, optimize, theorem_settings
    from thomax.space.parameters import Bool, Categorical, Float, Int, Ordinal
    from thomax.space.pool import Pool
    from thomax.space.space import Space
    from thomax.storage.outcomes import Result
    from thomax.storage.repair import repair
    from thomax.storage.trial import Correction, Trial

_HOMES = {
    "initial_design": "UncertaintySampling",
    "model.data": "Data",
    "storage.trial": "Correction Trial",
    "model.kernels": "NTK SE Matern52",
    "keys": "make_key make_keys",
    "running.loop": "StopReason",
    "search.settings": "Search",
    "model.networks": "CNN MLP Custom",
    "optimizer": "Optimizer",
    "space.parameters": "Bool Categorical Float Int Ordinal",
    "policies.base": "Policy",
    "policies.ensemble": "DeepEnsemble",
    "policies.gp": "GPTS GPUCB",
    "policies.neural": "NeuralTS NeuralUCB",
    "policies.random": "Random Sobol",
    "policies.sto": "STOBNTS STOBNTSLinear",
    "prediction": "Prediction",
    "space.pool": "Pool",
    "storage.outcomes": "Result",
    "storage.repair": "repair",
    "shortcuts": "maximize minimize optimize theorem_settings",
    "space.space": "Space",
}
__all__ = [
    "CNN",
    "GPTS",
    "GPUCB",
    "MLP",
    "NTK",
    "SE",
    "STOBNTS",
    "Bool",
    "Categorical",
    "Correction",
    "Custom",
    "Data",
    "DeepEnsemble",
    "Float",
    "Int",
    "Matern52",
    "NeuralTS",
    "NeuralUCB",
    "Optimizer",
    "Ordinal",
    "Policy",
    "Pool",
    "Prediction",
    "Random",
    "Result",
    "STOBNTSLinear",
    "Search",
    "Sobol",
    "Space",
    "StopReason",
    "Trial",
    "UncertaintySampling",
    "make_key",
    "make_keys",
    "maximize",
    "minimize",
    "optimize",
    "repair",
    "theorem_settings",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("thomax")
    for module, names in _HOMES.items():
        if name in names.split():
            globals()[name] = found = getattr(import_module(f"thomax.{module}"), name)
            return found
    if name.isidentifier() and find_spec(
        f"thomax.{name}"
    ):  # thomax.theory, without importing it first
        return import_module(f"thomax.{name}")
    from thomax.support.spelling import nearest

    hint = "" if name.startswith("_") else f": {nearest(name, __all__)}"
    raise AttributeError(f"module 'thomax' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
