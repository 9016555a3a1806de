"""Batch neural Thompson sampling for expensive black boxes."""

from thomax.data import Data
from thomax.kernels import NTK, SE, Matern52
from thomax.keys import make_key, make_keys
from thomax.networks import CNN, MLP, Custom
from thomax.policies.sto import STOBNTS, STOBNTSLinear

__all__ = [
    "CNN",
    "MLP",
    "NTK",
    "SE",
    "STOBNTS",
    "Custom",
    "Data",
    "Matern52",
    "STOBNTSLinear",
    "make_key",
    "make_keys",
]
