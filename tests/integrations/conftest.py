import logging

import optuna
import pytest


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture
def messages():
    """Collect what the sampler says through Optuna's logging."""
    handler, found = logging.Handler(), []
    handler.emit = lambda record: found.append(record.getMessage())
    logger = logging.getLogger("optuna.thomax")
    logger.addHandler(handler)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield found
    logger.removeHandler(handler)
