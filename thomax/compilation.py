"""A persistent compilation cache for thomax's own functions.

Compiling is most of the time to the first suggestion of a new process. While a thomax function
runs, JAX's cache points to a directory of ours; before and after, the user's JAX configuration is
exactly what it was. A cache that the user has set up is used as it is. The environment variable
THOMAX_CACHE names another directory, or switches caching off ("off").
"""

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import jax
from jax.experimental.compilation_cache import compilation_cache

P = ParamSpec("P")
R = TypeVar("R")

_SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
_depth = threading.local()


def cache_directory() -> Path | None:
    """Return where compiled functions are kept, or None if the user switched that off."""
    named = os.environ.get("THOMAX_CACHE", "")
    if named.lower() in {"off", "0", "no", "false"}:
        return None
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "thomax" / "compiled"


@contextmanager
def compilation_cache_of_thomax() -> Iterator[None]:
    """Let JAX keep what it compiles within this block, then restore its configuration."""
    directory = cache_directory()
    if directory is None or getattr(jax.config, "jax_compilation_cache_dir", None) or _nested():
        yield
        return
    before = {
        name: getattr(jax.config, name) for name in ["jax_compilation_cache_dir", *_SETTINGS]
    }
    _depth.inside = True
    try:
        for name, value in {"jax_compilation_cache_dir": str(directory), **_SETTINGS}.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()  # JAX decides once whether there is a cache: ask it again
        yield
    finally:
        _depth.inside = False
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


def _nested() -> bool:
    return getattr(_depth, "inside", False)


def cached_compilation(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with the compilation cache of thomax."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with compilation_cache_of_thomax():
            return function(*args, **kwargs)

    return wrapper


__all__: list[Any] = ["cache_directory", "cached_compilation", "compilation_cache_of_thomax"]
