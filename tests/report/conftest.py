"""Searches to report on, small enough to be drawn in a second."""

import pytest
from reading import SMALL, tell_all

from thomax import Bool, Categorical, Float, Int, Optimizer

MIXED = {
    "rate": Float(0.01, 100, log=True),
    "kind": Categorical(["adam", "sgd", "none"]),
    "momentum": Float(0, 1, when={"kind": "sgd"}),
    "depth": Int(1, 6),
    "early": Bool(),
}


def loss(params):
    return params["depth"] + 2 * (params["kind"] == "sgd") + 0.1 * params["rate"] ** 0.5


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    """A minimisation over all kinds of parameters, with a failure and two pending trials."""
    journal = tmp_path_factory.mktemp("mixed") / "mixed.jsonl"
    with Optimizer(
        MIXED, SMALL, direction="minimize", seed=3, initial=12, journal=journal
    ) as optimizer:
        for _ in range(3):
            tell_all(optimizer, 4, loss)
        failing, *_ = optimizer.ask(3)
        optimizer.tell(failing, error="ValueError: no luck\n  on this machine")
        yield optimizer


@pytest.fixture(scope="session")
def mixed_content(mixed):
    from thomax.report.content import gather
    from thomax.report.writing import snapshot_of

    return gather(snapshot_of(mixed))
