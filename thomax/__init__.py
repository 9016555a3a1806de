"""Batch neural Thompson sampling for expensive black boxes."""

from thomax.data import Data
from thomax.journal import Trial
from thomax.kernels import NTK, SE, Matern52
from thomax.keys import make_key, make_keys
from thomax.loop import StopReason
from thomax.maximise import Search
from thomax.networks import CNN, MLP, Custom
from thomax.optimizer import Optimizer
from thomax.parameters import Bool, Categorical, Float, Int, Ordinal
from thomax.policies.ensemble import DeepEnsemble
from thomax.policies.gp import GPTS, GPUCB
from thomax.policies.neural import NeuralTS, NeuralUCB
from thomax.policies.random import Random, Sobol
from thomax.policies.sto import STOBNTS, STOBNTSLinear
from thomax.pools import Pool
from thomax.repair import repair
from thomax.shortcuts import maximize, minimize
from thomax.spaces import Space

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
    "Pool",
    "Random",
    "STOBNTSLinear",
    "Search",
    "Sobol",
    "Space",
    "StopReason",
    "Trial",
    "make_key",
    "make_keys",
    "maximize",
    "minimize",
    "repair",
]
