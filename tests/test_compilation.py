import os
import subprocess
import sys

import jax
import pytest

from thomax.compilation import cache_directory, compilation_cache_of_thomax

NAMES = ["jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"]


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


DRAW = "import thomax; thomax.STOBNTSLinear(thomax.MLP(1, 8))(0, thomax.Data([[0.0]], [1.0]))"


def test_a_second_process_finds_what_the_first_compiled(tmp_path):
    environment = {**os.environ, "THOMAX_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", DRAW], env=environment, check=True)
    first = {p.name for p in tmp_path.iterdir()}
    assert first
    subprocess.run([sys.executable, "-c", DRAW], env=environment, check=True)
    entries = {name for name in first if name.endswith("-cache")}
    assert {p.name for p in tmp_path.iterdir() if p.name.endswith("-cache")} == entries
