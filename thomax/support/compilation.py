"""Compiled functions that neither depend on the user's JAX settings nor change them.

Every function that thomax compiles is called within settings of its own, which hold for the
calling thread alone: what comes out is the same whatever the user has set, and code of the user's
(objectives, constraints) runs under the user's settings.

Compiling is most of the time to the first suggestion of a new process, so that what is compiled is
kept on disk. JAX has one such cache for the whole process: it points to a directory of ours only
while a function of ours is compiled, which for each size of data happens once. Whatever another
thread compiles in that time is kept there too. A cache that the user has set up is used as it is.
The environment variable THOMAX_CACHE names another directory, or switches caching off ("off").
"""

import functools
import os
import sys
import threading
import zlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from thomax.support.lazy_jax import jax

P = ParamSpec("P")
R = TypeVar("R")

_DIRECTORY = "jax_compilation_cache_dir"
_KEEP_ALL = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
_ENTRIES = "*-cache"
_CHECKED = ".checked"  # a file as old as the last search for damaged entries
_ZSTANDARD = b"\x28\xb5\x2f\xfd"  # how files of that format begin


@contextmanager
def own_settings(x64: bool = False) -> Iterator[None]:
    """Give the calling thread the JAX settings that thomax is written for.

    Where computations take place (`jax_default_device`) is left to the user.

    Args:
        x64: Whether arrays may be of double precision.
    """
    with ExitStack() as stack:
        for setting in (
            jax.enable_x64(x64),
            jax.numpy_rank_promotion("allow"),
            jax.numpy_dtype_promotion("standard"),
            jax.transfer_guard("allow"),
            jax.default_matmul_precision("highest"),
            jax.default_prng_impl("threefry2x32"),
            jax.threefry_partitionable(True),
            jax.debug_nans(False),  # some values overflow on purpose, and are seen to
            jax.debug_infs(False),
            jax.disable_jit(False),
        ):
            stack.enter_context(setting)
        yield


class Compiled(Generic[P, R]):
    """A function compiled by JAX under thomax's settings and kept in its cache.

    Its results are NumPy arrays: transferring them, too, is subject to settings.

    Args:
        function: The function to compile.
        static_argnums: Positions of arguments that are constants of the compiled code.
        x64: Whether to compute in double precision where arrays are of double precision.
        whole: Whether to compile the function as one; otherwise each of its operations by itself.
    """

    def __init__(
        self, function: Callable[P, R], static_argnums: tuple[int, ...], x64: bool, whole: bool
    ) -> None:
        functools.update_wrapper(self, function)
        self._function, self._whole = function, whole
        self._static, self._x64 = static_argnums, x64
        self._known: set[Hashable] = set()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the function's results as NumPy arrays."""
        static = tuple(args[i] for i in self._static)
        leaves, tree = jax.tree.flatten([a for i, a in enumerate(args) if i not in self._static])
        # JAX compiles anew for what changes in these.
        signature = (
            static,
            tree,
            tuple((np.shape(z), getattr(z, "dtype", type(z))) for z in leaves),
        )
        with own_settings(self._x64 or any(map(_is_double, leaves))):
            if signature in self._known:
                return _as_numpy(self._run(*args, **kwargs))
            with compilation_cache_of_thomax():
                found = _as_numpy(self._run(*args, **kwargs))
        self._known.add(signature)
        return found

    @functools.cached_property
    def _run(self) -> Any:
        if not self._whole:
            return self._function
        return jax.jit(self._function, static_argnums=self._static)

    def _cache_size(self) -> int:
        """Count the versions compiled in this process, as the functions of `jax.jit` do."""
        return int(self._run._cache_size())


def compiled(
    *, static_argnums: tuple[int, ...] = (), x64: bool = False, whole: bool = True
) -> Callable[[Callable[P, R]], Compiled[P, R]]:
    """Compile a function, as `jax.jit` does, independently of the user's settings.

    Args:
        static_argnums: Positions of arguments that are constants of the compiled code.
        x64: Whether to compute in double precision where arrays are of double precision.
        whole: Whether to compile the function as one; otherwise each of its operations by itself,
            which rounds after each.
    """
    return lambda function: Compiled(function, static_argnums, x64, whole)


def _is_double(leaf: object) -> bool:
    """Return whether JAX has made this array in double precision, which it must not lose."""
    return isinstance(leaf, jax.Array) and leaf.dtype == np.float64


def _as_numpy(tree: R) -> R:
    found: R = jax.tree.map(np.asarray, tree)
    return found


def cache_directory() -> Path | None:
    """Return where compiled functions are kept, or None if the user switched that off."""
    named = os.environ.get("THOMAX_CACHE", "")
    if named.lower() in {"off", "0", "no", "false"}:
        return None
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "thomax" / "compiled"


_redirecting = threading.Lock()  # held by the thread that has pointed JAX's cache to ours


@contextmanager
def compilation_cache_of_thomax() -> Iterator[None]:
    """Let JAX keep what it compiles within this block, then restore its configuration.

    The configuration is the whole process's. So one thread at a time changes and restores it;
    others that come meanwhile would take what it has set for the user's own.
    """
    if not _redirecting.acquire(blocking=False):
        yield
        return
    try:
        with _redirected(cache_directory()):
            yield
    finally:
        _redirecting.release()


@contextmanager
def _redirected(directory: Path | None) -> Iterator[None]:
    if directory is None or getattr(jax.config, _DIRECTORY) or not _is_writable(directory):
        yield
        return
    from jax.experimental.compilation_cache import compilation_cache

    _remove_damaged(directory)
    ours = {_DIRECTORY: str(directory), **_KEEP_ALL}
    before = {name: getattr(jax.config, name) for name in ours}
    try:
        for name, value in ours.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()  # JAX decides once whether there is a cache: ask it again
        yield
    finally:
        for name, value in before.items():
            if getattr(jax.config, name) == ours[name]:  # else the user has set it meanwhile
                jax.config.update(name, value)
        compilation_cache.reset_cache()


def _is_writable(directory: Path) -> bool:
    """Return whether entries can be written: JAX would warn of each that cannot."""
    with suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        return os.access(directory, os.W_OK | os.X_OK)
    return False


@functools.cache  # once in a process
def _remove_damaged(directory: Path) -> None:
    """Delete entries that cannot be read: JAX would warn of each in every process, for ever.

    A process that is killed, or a disk that is full, leaves half an entry, and JAX never writes
    over what is there. Only entries changed since the last search are looked at.
    """
    checked, begun = directory / _CHECKED, directory / f"{_CHECKED}.{os.getpid()}"
    with suppress(OSError):
        since = checked.stat().st_mtime_ns if checked.exists() else 0
        begun.touch()
        for entry in directory.glob(_ENTRIES):
            if entry.stat().st_mtime_ns >= since and _is_damaged(entry.read_bytes()):
                entry.unlink()
        begun.replace(checked)


def _is_damaged(entry: bytes) -> bool:
    try:
        _decompress(entry)
    except ImportError:  # JAX does not look for an entry in this format either
        return False
    except Exception:  # each format has its own
        return True
    return False


def _decompress(entry: bytes) -> bytes:
    if not entry.startswith(_ZSTANDARD):
        return zlib.decompress(entry)
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.decompress(entry)
    zstandard: Any = import_module("zstandard")
    return bytes(zstandard.ZstdDecompressor().decompress(entry))
