"""ThomaxSampler for `optunahub.load_module("samplers/thomax")`."""

from thomax.integrations.optuna import ThomaxSampler

__all__ = ["ThomaxSampler"]
