import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import thomax as tx
from thomax.support.compilation import cache_directory, compilation_cache_of_thomax, compiled

NAMES = [
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
]


def settings():
    return [getattr(jax.config, name) for name in NAMES]


def test_the_cache_is_ours_inside_and_the_users_configuration_returns(monkeypatch, tmp_path):
    monkeypatch.setenv("THOMAX_CACHE", str(tmp_path))
    before = settings()
    inside = []

    def fail():
        with compilation_cache_of_thomax():
            inside.append(jax.config.jax_compilation_cache_dir)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert inside == [str(tmp_path)]
    assert settings() == before


@pytest.mark.parametrize("word", ["off", "OFF", "0"])
def test_the_user_can_switch_it_off(monkeypatch, word):
    monkeypatch.setenv("THOMAX_CACHE", word)
    before = settings()
    assert cache_directory() is None
    with compilation_cache_of_thomax():
        assert settings() == before


def test_a_cache_of_the_users_own_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("THOMAX_CACHE", str(tmp_path / "ours"))
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
    try:
        with compilation_cache_of_thomax():
            assert jax.config.jax_compilation_cache_dir == str(tmp_path / "theirs")
    finally:
        jax.config.update("jax_compilation_cache_dir", None)


DRAW = """
import thomax

image = [[[[0.0]] * 3] * 3]
thomax.STOBNTSLinear(thomax.CNN(width=2))(0, thomax.Data(image, [1.0]))
"""


@pytest.mark.slow
def test_a_second_process_finds_what_the_first_compiled(tmp_path):
    environment = {**os.environ, "THOMAX_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", DRAW], env=environment, check=True)
    first = {p.name for p in tmp_path.iterdir()}
    assert first
    subprocess.run([sys.executable, "-c", DRAW], env=environment, check=True)
    entries = {name for name in first if name.endswith("-cache")}
    assert {p.name for p in tmp_path.iterdir() if p.name.endswith("-cache")} == entries


def test_two_threads_leave_the_configuration_as_it_was(monkeypatch, tmp_path):
    """Row 13: the second took what the first had set for the user's own."""
    monkeypatch.setenv("THOMAX_CACHE", str(tmp_path))
    before, inside, leave = settings(), threading.Event(), threading.Event()

    def first():
        with compilation_cache_of_thomax():
            inside.set()
            assert leave.wait(30)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(30)
    with compilation_cache_of_thomax():
        leave.set()
        thread.join()
    assert settings() == before
    with compilation_cache_of_thomax():
        assert jax.config.jax_compilation_cache_dir == str(tmp_path)
    assert settings() == before


def test_what_the_user_sets_meanwhile_stays(monkeypatch, tmp_path):
    """Row 13: the user's setting was reset when our function ended."""
    monkeypatch.setenv("THOMAX_CACHE", str(tmp_path / "ours"))
    before, theirs = settings(), str(tmp_path / "theirs")
    try:
        with compilation_cache_of_thomax():
            jax.config.update("jax_compilation_cache_dir", theirs)
        assert settings() == [theirs, *before[1:]]
    finally:
        jax.config.update("jax_compilation_cache_dir", None)


def test_functions_of_the_user_are_not_kept_in_our_cache(monkeypatch, tmp_path):
    """Row 13: neither those of a constraint, which runs in the middle of a search."""
    monkeypatch.setenv("THOMAX_CACHE", str(tmp_path))

    def theirs(x):
        return x * 3 < 2

    seen = []

    def constraint(params):
        seen.append(settings())
        return bool(jax.jit(theirs)(params["x"]))

    before = settings()
    space = tx.Space({"x": tx.Float(-1, 1)}, constraint=constraint)
    optimizer = tx.Optimizer(space, tx.GPTS(features=14), seed=0, initial=1)
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.ask()
    kept = [p.name for p in tmp_path.iterdir()]
    assert any("_own_gradients" in name for name in kept)
    assert not any("theirs" in name for name in kept)
    assert all(found == before for found in seen)


def test_nothing_of_the_process_is_changed_once_everything_is_compiled(monkeypatch, tmp_path):
    """Row 13: every evaluation of a draw changed the configuration of the process."""
    monkeypatch.setenv("THOMAX_CACHE", str(tmp_path))

    @compiled()
    def double(x):
        return 2 * x

    double(np.ones(3))
    changes = []
    monkeypatch.setattr(jax.config, "update", lambda *change: changes.append(change))
    double(np.zeros(3))
    assert changes == []
    double(np.zeros(4))
    assert changes


SETTINGS = {
    "rank promotion": lambda: jax.numpy_rank_promotion("raise"),
    "dtype promotion": lambda: jax.numpy_dtype_promotion("strict"),
    "transfers": lambda: jax.transfer_guard("disallow_explicit"),
    "NaN": lambda: jax.debug_nans(True),
    "infinities": lambda: jax.debug_infs(True),
    "precision": lambda: jax.default_matmul_precision("BF16_BF16_F32"),
    "double precision": lambda: jax.enable_x64(True),
    "no compilation": lambda: jax.disable_jit(True),
    "random numbers": lambda: jax.default_prng_impl("rbg"),
    "partitions": lambda: jax.threefry_partitionable(False),
}


def _init(key):
    first, second = jax.random.split(key)
    return [jax.random.normal(first, (2, 8)), jax.random.normal(second, (8,))]


POLICIES = {
    "linear": tx.STOBNTSLinear(tx.MLP(1, 8)),
    "infinite": tx.STOBNTSLinear(tx.MLP(1, np.inf), prior_width=8),
    "trained": tx.STOBNTS(tx.MLP(1, 8, "gelu"), steps=3),
    "images": tx.STOBNTSLinear(tx.CNN(width=4, pooling=1, kernel=1)),
    "GP": tx.GPTS(prior_features=16),
    "bound": tx.GPUCB(),
    "neural": tx.NeuralTS(tx.MLP(1, 8)),
    "ensemble": tx.DeepEnsemble(tx.MLP(1, 8), steps=3, polish=3),
    "random": tx.Random(),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_draws_do_not_depend_on_the_settings_of_jax(policy):
    """Row 14: rank promotion, transfer guards and strict dtypes made every ask raise."""
    x = np.random.default_rng(0).uniform(-1, 1, (6, 2))
    if isinstance(getattr(policy, "network", None), tx.CNN):
        x = x.reshape(6, 2, 1, 1)
    data = tx.Data(x, np.arange(6.0))
    expected = policy(tx.make_keys(0, 2), data)(x)
    for name, setting in SETTINGS.items():
        with setting():
            found = policy(tx.make_keys(0, 2), data)(x)
        np.testing.assert_array_equal(found, expected, name)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_proposals_do_not_depend_on_the_settings_of_jax(setting):
    """Row 14, for a whole search; code of the user's sees what the user has set."""

    def search():
        seen = set()

        def apply(w, x):  # a new one each time: nothing is remembered of the network
            return jnp.tanh(x @ w[0]) @ w[1]

        def constraint(params):
            seen.add(jax.config.jax_enable_x64)
            return params["x"] < 0.9

        space = tx.Space({"x": tx.Float(-1, 1), "n": tx.Int(1, 40)}, constraint=constraint)
        policy = tx.STOBNTSLinear(tx.Custom(_init, apply), inputs="cube")
        optimizer = tx.Optimizer(space, policy, seed=0, initial=2)
        for trial in optimizer.ask(2) + optimizer.ask(2):
            optimizer.tell(trial, trial.params["x"])
        return [t.params for t in optimizer.trials], optimizer.recommend().number, seen

    *expected, _ = search()
    with setting():
        *found, seen = search()
        assert seen == {jax.config.jax_enable_x64}
    assert found == expected


@pytest.mark.slow
def test_damaged_entries_are_removed_once_and_written_anew(tmp_path):
    """Row 17: each cost a warning in every later process."""
    environment = {**os.environ, "THOMAX_CACHE": str(tmp_path)}

    def draw():
        done = subprocess.run(
            [sys.executable, "-c", DRAW],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stderr

    draw()
    sound = {p: p.stat().st_size for p in tmp_path.glob("*-cache")}
    for path, size in sound.items():
        os.truncate(path, size // 2)
    assert "Error reading" not in draw()
    # What was written anew may be a few bytes longer or shorter.
    assert {p for p in tmp_path.glob("*-cache") if p.stat().st_size > sound[p] * 0.9} == {*sound}
    whole = {p: p.stat().st_mtime_ns for p in sound}
    assert "Error reading" not in draw()
    assert {p: p.stat().st_mtime_ns for p in sound} == whole


def test_a_cache_that_cannot_be_written_to_is_not_used(monkeypatch, tmp_path):
    """Row 17: JAX would warn of each function that it cannot keep."""
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("THOMAX_CACHE", str(tmp_path / "file" / "cache"))
    before = settings()
    with compilation_cache_of_thomax():
        assert settings() == before
