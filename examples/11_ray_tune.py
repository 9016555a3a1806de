"""Ray Tune runs the trials, thomax chooses them. Needs Ray: pip install "thomax[ray]"."""

from ray import tune

from thomax.integrations.ray import ThomaxSearch


def train(config):
    model = config["model"]
    penalty = 0.5 if model["kind"] == "shallow" else 0.0
    return {"loss": (config["rate"] - 0.1) ** 2 + penalty + 0.01 * abs(model["layers"] - 3)}


tuner = tune.Tuner(
    train,
    param_space={
        "rate": tune.loguniform(1e-3, 1),
        "model": {"kind": tune.choice(["shallow", "deep"]), "layers": tune.randint(1, 9)},
    },
    tune_config=tune.TuneConfig(
        search_alg=ThomaxSearch(seed=0, metric="loss", mode="min"),
        num_samples=16,
        max_concurrent_trials=2,
    ),
)
best = tuner.fit().get_best_result(metric="loss", mode="min")
print(f"loss {best.metrics['loss']:.4f} with {best.config}")
