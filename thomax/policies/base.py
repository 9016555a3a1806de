"""What a policy is: a function of keys and data that returns scores, and four facts about it."""

import inspect
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from thomax.model.data import Data

if TYPE_CHECKING:  # importing JAX takes long, and the first points do without
    from thomax.model.evaluation import Score
    from thomax.model.kernels import Kernel


class Policy(Protocol):
    """Turn keys and data into scores to maximise; the base class for a policy of one's own.

    Set the attributes in the class body where a policy differs from the defaults.

    Attributes:
        reads_pending: Whether scores depend on `data.pending`, so that a batch must be asked for
            point by point.
        search_near_best: Whether the search should look around the best observed points too.
        is_model: Whether scores estimate the objective, as posterior draws do and upper bounds or
            noise do not. If not, `recommend()` and the report use the default policy.
        avoids_failures: Whether proposals are kept away from where evaluations fail. If not, the
            policy sees failed evaluations too, as NaN in `data.y`.

    Examples:
        >>> from thomax import Data, Policy, STOBNTSLinear
        >>> class Cautious(Policy):
        ...     search_near_best = False
        ...
        ...     def __call__(self, keys, data):
        ...         return STOBNTSLinear(beta=0.1)(keys, data)
        >>> Cautious().search_near_best, Cautious().reads_pending
        (False, False)
    """

    reads_pending: ClassVar[bool] = False
    search_near_best: ClassVar[bool] = True
    is_model: ClassVar[bool] = True
    avoids_failures: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, keys: np.ndarray, data: Data, /) -> "Score":
        """Return a batch of scores, one for each key.

        Args:
            keys: The keys of the trials that points are wanted for, (B, 2).
            data: What has been observed, larger values being better.
        """


PolicyFunction: TypeAlias = Callable[[np.ndarray, Data], "Score"]
_FLAGS = ("reads_pending", "search_near_best", "is_model", "avoids_failures")


@runtime_checkable
class HasPriorKernel(Protocol):
    """A policy with a known prior covariance, which `initial="uncertainty"` needs."""

    @property
    def noise_std(self) -> float | None:
        """Standard deviation of the observation noise, or None if it is learnt."""

    def prior_kernel(self, shape: tuple[int, ...], /) -> "Kernel":
        """Return the prior covariance, before any data, of encoded points of this shape."""


@dataclass(frozen=True)
class FunctionPolicy(Policy):
    """A function as a policy, with the default attributes.

    Args:
        function: Takes keys and data, returns a score.
    """

    function: PolicyFunction

    def __call__(self, keys: np.ndarray, data: Data, /) -> "Score":
        """Return what the function returns."""
        return self.function(keys, data)


def as_policy(policy: Policy | PolicyFunction, owner: str) -> Policy:
    """Return a policy as it is, and a function wrapped as one.

    Args:
        policy: What a user has passed.
        owner: The class it was passed to, for error messages.

    Raises:
        TypeError: If it is neither, or an object that does not declare the four attributes.
    """
    if isinstance(policy, type) or not callable(policy):
        raise TypeError(
            f"{owner} needs a policy such as STOBNTSLinear(), got {policy!r}: "
            "pass an instance, or a function of keys and data."
        )
    undeclared = [n for n in _FLAGS if not isinstance(getattr(policy, n, None), bool)]
    if not undeclared:
        return policy  # type: ignore[return-value]
    # Functions, partials and compiled functions are no instances of classes written in Python.
    if inspect.isfunction(type(policy).__call__):
        raise TypeError(
            f"{owner} needs a policy whose {' and '.join(undeclared)} "
            f"{'is' if len(undeclared) == 1 else 'are'} True or False, got {policy!r}: let "
            f"{type(policy).__name__} inherit from thomax.Policy, which has the defaults."
        )
    return FunctionPolicy(policy)
