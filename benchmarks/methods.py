"""The methods that benchmarks compare, by short names such as `sto-paper:8x64@4`.

NAME[-CONFIGURATION][+SETTING=VALUE]...[:NETWORK][@BATCH]

name            sto, linear, ensemble, gp-ts, gp-ucb, neural-ucb, neural-ts, random, sobol,
                auto (what `Optimizer` takes by itself), one of `ABLATIONS`, or a rival of
                `benchmarks.rivals`, which has neither configuration nor network
configuration   nothing (our defaults), paper, released (not neural-ucb, neural-ts), scaled (the
                paper's, on standardised targets: ensemble, neural-ucb, neural-ts)
settings        of auto only, such as +beta=0.2<30+initial=5: see `benchmarks.variants`
network         LxM: L hidden layers of width M; cnnM: one convolution and one dense layer
batch           how many points an iteration has; 1 if left out
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.rivals import RIVALS
from benchmarks.variants import Variant, parse_settings
from thomax.model.networks import CNN, MLP
from thomax.policies.base import Policy
from thomax.policies.ensemble import DeepEnsemble
from thomax.policies.gp import GPTS, GPUCB
from thomax.policies.neural import NeuralTS, NeuralUCB
from thomax.policies.random import Random, Sobol
from thomax.policies.sto import STOBNTS, STOBNTSLinear
from thomax.search.settings import Search
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.suggest import default_policy

_PATTERN = re.compile(
    r"(?P<method>[a-z0-9-]+?)(?P<settings>(\+[a-z_]+=[a-z0-9.,<-]+)*)"
    r"(:((?P<depth>\d+)x(?P<width>\d+)|cnn(?P<channels>\d+)))?(@(?P<batch>\d+))?"
)
_OURS: dict[str, type[STOBNTS] | type[STOBNTSLinear]] = {"sto": STOBNTS, "linear": STOBNTSLinear}
_MAKERS: dict[str, Callable[[], Policy]] = {
    "ensemble": DeepEnsemble,
    "gp-ts": GPTS,
    "gp-ucb": GPUCB,
    "neural-ucb": NeuralUCB,
    "neural-ts": NeuralTS,
    "random": Random,
    "sobol": Sobol,
    "sto-paper": STOBNTS.paper,
    "linear-paper": STOBNTSLinear.paper,
    "ensemble-paper": DeepEnsemble.paper,
    "gp-ts-paper": GPTS.paper,
    "gp-ucb-paper": GPUCB.paper,
    "neural-ucb-paper": NeuralUCB.paper,
    "neural-ts-paper": NeuralTS.paper,
    "ensemble-scaled": lambda: DeepEnsemble.paper(scaled=True),
    "neural-ucb-scaled": lambda: NeuralUCB.paper(scaled=True),
    "neural-ts-scaled": lambda: NeuralTS.paper(scaled=True),
    "sto-released": STOBNTS.released,
    "linear-released": STOBNTSLinear.released,
    "ensemble-released": DeepEnsemble.released,
    "gp-ts-released": GPTS.released,
    "gp-ucb-released": GPUCB.released,
}


def _auto(**changes: Any) -> Callable[[Space | Pool], tuple[Policy, Search]]:
    """Return our default with some settings changed."""

    def variant(space: Space | Pool) -> tuple[Policy, Search]:
        usual: Any = default_policy(space)
        return replace(usual, **changes), Search()

    return variant


# Variants of `auto` by one ingredient each: `python -m benchmarks compare --ablation`.
ABLATIONS: dict[str, Callable[[Space | Pool], tuple[Policy, Search]]] = {
    "one-scale": _auto(scale_prior_std=0.0),
    "different-scales": _auto(scale_prior_std=0.5),
    "unwarped": _auto(warp_targets=False),
    "much-noise": _auto(max_noise_std=1.0),
    "full-deviation": _auto(beta=1.0),
    "small-deviation": _auto(beta=0.25),
    "on-the-cube": _auto(inputs="cube"),
}
NAMES = ("auto", *_OURS, *_MAKERS, *ABLATIONS)
_CONFIGURATIONS = ("-paper", "-scaled", "-released")


@dataclass(frozen=True)
class Method:
    """A policy with the search and the batch size that go with it."""

    name: str
    batch: int = 1
    depth: int | None = None
    width: int | None = None
    channels: int | None = None
    variant: Variant = field(default=Variant(), repr=False)

    @property
    def initial(self) -> int | None:
        """How many points of its own the method begins with; None leaves it to the optimiser."""
        return 0 if self.name == "random" else self.variant.initial

    def policy(self, space: Space | Pool, activation: str | None = None) -> Policy:
        """Return the policy for a space, with the network the name asks for.

        The activation is that of the paper's networks; our own configurations keep theirs.
        """
        made: Any = self._usual(space)
        if not hasattr(made, "network"):
            if self.depth is not None or self.channels is not None:
                raise ValueError(f"The network of {self.name} cannot be chosen: leave it out.")
            return made
        return replace(made, network=self._network(made.network, activation))

    def _usual(self, space: Space | Pool) -> Policy:
        if self.name in ABLATIONS:
            return ABLATIONS[self.name](space)[0]
        if self.name in _MAKERS:
            return _MAKERS[self.name]()
        usual: Any = default_policy(space)
        if self.name == "auto":
            return self.variant.policy(usual, space)
        return _OURS[self.name](beta=usual.beta, warp_targets=usual.warp_targets)

    def search(self, space: Space | Pool | None = None) -> Search:
        """Return the search that goes with the configuration, and in an ablation the space."""
        if self.name in ABLATIONS and space is not None:
            return ABLATIONS[self.name](space)[1]
        if self.name.startswith("gp") and self.name.endswith("-released"):
            return Search.paper()  # float64: there the refinement of the released code works
        if self.name.endswith("-released"):
            return Search.released()
        if self.name.endswith(_CONFIGURATIONS):
            return Search.paper()
        return self.variant.search(Search(), space)

    def _network(self, usual: Any, activation: str | None) -> Any:
        own = not self.name.endswith(_CONFIGURATIONS)
        if self.channels is not None:
            scales = {} if own else {"w_std": usual.w_std, "b_std": usual.b_std}
            return CNN(width=self.channels, **scales)
        if not isinstance(usual, MLP):
            return usual
        shape: dict[str, Any] = {
            "depth": self.depth,
            "width": self.width,
            "activation": None if own else activation,
        }
        return replace(usual, **{name: v for name, v in shape.items() if v is not None})


def parse_method(text: str) -> Method:
    """Read a method's short name.

    Example:
        >>> parse_method("sto-paper:8x64@4")
        Method(name='sto-paper', batch=4, depth=8, width=64, channels=None)
    """
    match = _PATTERN.fullmatch(text)
    if match is None or match["method"] not in (*NAMES, *RIVALS):
        raise ValueError(
            "A method is NAME[-CONFIGURATION][+SETTING=VALUE][:NETWORK][@BATCH] with one of "
            f"{', '.join((*NAMES, *RIVALS))}; got {text!r}."
        )
    numbers = {k: None if match[k] is None else int(match[k]) for k in ("depth", "width")}
    channels = None if match["channels"] is None else int(match["channels"])
    batch = int(match["batch"] or 1)
    if 0 in (batch, channels, *numbers.values()):
        raise ValueError(f"A method needs sizes of at least 1, got {text!r}.")
    if match["method"] in RIVALS and (channels or numbers["depth"]):
        raise ValueError(f"A method that is not ours has no network of ours, got {text!r}.")
    if match["settings"] and match["method"] != "auto":
        raise ValueError(f"Settings are of auto, such as auto+beta=0.2<30; got {text!r}.")
    variant = parse_settings(match["settings"])
    return Method(match["method"], batch, numbers["depth"], numbers["width"], channels, variant)
