"""Which point a search evaluates next: enqueued ones, then the initial design, then the policy."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thomax.initial_design import (
    Identity,
    UncertaintySampling,
    design_length,
    may_repeat,
    most_uncertain_point,
    quasi_random_point,
    quasi_random_point_in,
    stage_length,
)
from thomax.model.targets import USUAL_NOISE_STD
from thomax.policies.base import HasPriorKernel, Policy
from thomax.search.settings import Search
from thomax.space.given import Region
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.observations import EncodedHistory
from thomax.support.types import Params

if TYPE_CHECKING:  # importing JAX takes long, and the first points do without
    from thomax.model.kernels import Kernel


def check_search(who: str, search: object) -> None:
    """Refuse what is no Search, before anything is proposed.

    Args:
        who: The name of the public class that was given it.
        search: Must be a Search or None.
    """
    if search is not None and not isinstance(search, Search):
        raise TypeError(f"{who} needs search to be a Search, got {search!r}.")


@dataclass(frozen=True)
class Proposer:
    """Propose the next points of a search from its history.

    Args:
        space: The space of the points.
        policy: What proposes points once the initial design is done; called when it is needed.
        seed: The seed of the search.
        initial: The number of quasi-random initial points, or uncertainty sampling.
        search: How the policy's scores are maximised.
        allow_repeats: Whether points may be proposed again, and twice in a batch.
        region: The region of the space that points must lie in; None for all of it.
    """

    space: Space | Pool
    policy: Callable[[], Policy]
    seed: int
    initial: int | UncertaintySampling
    search: Search
    allow_repeats: bool
    region: Region | None = None

    def points(self, history: EncodedHistory, n: int) -> list[Params]:
        """Return the next points, at most n; none if the space is exhausted.

        Fewer come where the next one depends on these being recorded: ask again after that.

        Args:
            history: All trials so far.
            n: How many points are wanted.
        """
        region = self._region
        for enqueued in history.queue:
            if region.inside(enqueued) is not None:
                return [enqueued]
        if region.given:
            region.require_point(history.rows(*history.listed()))
        if self._is_initial(history):
            point = self._initial_point(history)
            return [] if point is None else [point]
        from thomax.suggest import suggest  # JAX, which the first points do without

        policy = self.policy()
        return suggest(
            policy,
            region,
            history.data() if history.metrics.is_one else history.metric_data(),
            # A policy that reads pending points gets to see those of its own batch.
            1 if policy.reads_pending else n,
            seed=self.seed,
            number=history.next_number,
            search=self.search,
            exclude=[] if self.allow_repeats else [t.params for t in history.taken],
            distinct=not self.allow_repeats,
        )

    @property
    def _region(self) -> Region:
        return self.region or Region(self.space)

    def _is_initial(self, history: EncodedHistory) -> bool:
        """Return whether the next point is one of the design, which lasts until something is told.

        Draws from the prior are largest at the edges of the space, several at the same place.
        """
        if isinstance(self.initial, UncertaintySampling):
            length = self.initial.length
            assert length is not None  # `with_length` has been called
        else:
            length = self.initial
        return history.next_number < length or (length > 0 and not history.told)

    def _initial_point(self, history: EncodedHistory) -> Params | None:
        """Return the next point of the initial design, or None if the space is exhausted."""
        number, region = history.next_number, self._region
        excludes = not self.allow_repeats and (region.space is None or may_repeat(region.space))
        if isinstance(self.initial, UncertaintySampling):
            before = [t.params for t in history.taken]
            return most_uncertain_point(
                self.space, self.seed, number, before, before if excludes else [],
                *_prior_of(self.policy(), self.space), self.search, region,
            )  # fmt: skip
        if region.given:
            exclude = [t.params for t in history.taken] if excludes else []
            rows = history.rows(*history.listed())
            return quasi_random_point_in(region, self.seed, number, exclude, rows)
        seen: set[Identity] = history.identities() if excludes else set()
        return quasi_random_point(
            self.space, self.seed, number, seen, history.rows(*history.listed())
        )


def with_length(
    initial: int | UncertaintySampling | None, space: Space | Pool, policy: Callable[[], Policy]
) -> int | UncertaintySampling:
    """Return how a search begins, with the number of points.

    Args:
        initial: How it begins; None for the default number of quasi-random points.
        space: Where to search.
        policy: Whose prior and noise uncertainty sampling takes; called when it is needed.
    """
    if not isinstance(initial, UncertaintySampling):
        return design_length(initial, space)
    if initial.length is not None:
        return initial
    return replace(initial, length=stage_length(initial, space, *_prior_of(policy(), space)))


def _prior_of(policy: Policy, space: Space | Pool) -> tuple["Kernel", float]:
    """Return the prior covariance and the noise that a policy assumes before any data."""
    if not isinstance(policy, HasPriorKernel):
        raise ValueError(
            "Uncertainty sampling needs a policy with a prior_kernel and a noise_std, "
            f"got {type(policy).__name__}: use STOBNTS, STOBNTSLinear, GPTS or GPUCB."
        )
    # A policy that learns its noise from the values has none yet.
    return policy.prior_kernel(space.shape), policy.noise_std or USUAL_NOISE_STD
