"""Batch neural Thompson sampling for expensive black boxes."""

from thomax.data import Data
from thomax.journal import Trial
from thomax.kernels import NTK, SE, Matern52
from thomax.keys import make_key, make_keys
from thomax.loop import StopReason
from thomax.maximise import Search
from thomax.networks import CNN, MLP, Custom
from thomax.optimizer import Optimizer, maximize, minimize
from thomax.parameters import Bool, Categorical, Float, Int, Ordinal
from thomax.policies.sto import STOBNTS, STOBNTSLinear
from thomax.pools import Pool
from thomax.repair import repair
from thomax.spaces import Space

__all__ = [
    "CNN",
    "MLP",
    "NTK",
    "SE",
    "STOBNTS",
    "Bool",
    "Categorical",
    "Custom",
    "Data",
    "Float",
    "Int",
    "Matern52",
    "Optimizer",
    "Ordinal",
    "Pool",
    "STOBNTSLinear",
    "Search",
    "Space",
    "StopReason",
    "Trial",
    "make_key",
    "make_keys",
    "maximize",
    "minimize",
    "repair",
]
