"""Space files: a search written down in TOML.

direction = "minimize"
trials = 100

[parameters]
lr = {type = "float", low = 1e-5, high = 1e-1, log = true}
act = {type = "categorical", choices = ["relu", "tanh"]}
slope = {type = "float", low = 0, high = 1, when = {act = "relu"}}

In place of [parameters], a table [pool] with file = "candidates.csv" lists the points. In place
of a direction, tables name what is measured:

[objectives]
yield = "maximize"
cost = "minimize"

[limits]
impurity = "<= 0.02"
"""

import tomllib
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import cast

from thomax.cli.candidates import read_pool
from thomax.cli.settings import DEFAULTS, RULES, Settings, check_setting
from thomax.space.parameters import PARAMETER_TYPES, Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.storage.metrics import Metrics
from thomax.storage.trial import Direction
from thomax.support.spelling import nearest

TYPES = {name.lower(): kind for name, kind in PARAMETER_TYPES.items()}


@dataclass(frozen=True)
class SpaceFile:
    """What a space file says.

    Args:
        path: The file.
        space: What is searched.
        settings: The settings that stand in the file.
        metrics: The objectives and limits.
    """

    path: Path
    space: Space | Pool
    settings: Settings
    metrics: Metrics


def read_space_file(path: Path) -> SpaceFile:
    """Read a space file, or raise with one sentence on the key that is wrong.

    Args:
        path: The file.
    """
    content = _parsed(path)
    tables, pool = content.pop("parameters", None), content.pop("pool", None)
    objectives, limits = content.pop("objectives", None), content.pop("limits", None)
    if pool is not None and tables is not None:
        raise ValueError(f"{path} needs either [parameters] or [pool], got both.")
    parameters = tables if isinstance(tables, dict) else {}
    if pool is None and not parameters:
        raise ValueError(
            f"{path} needs a table [parameters] with at least one parameter, "
            'such as x = {type = "float", low = 0, high = 1}, or a table [pool] with a file.'
        )
    for key, value in content.items():
        if key not in RULES:
            known = [*RULES, "objectives", "limits"] if isinstance(value, dict) else RULES
            raise ValueError(f"{path}: the key {key!r} is unknown: {nearest(key, known)}")
        check_setting(f"{path}: {key}", key, value)
    settings = cast(Settings, content)  # each was checked
    if objectives is not None and "direction" in settings:
        raise ValueError(
            f"{path} needs either [objectives] or a direction, got both: the objectives have a "
            "direction each."
        )
    metrics = _metrics(path, objectives, limits, settings.get("direction", DEFAULTS["direction"]))
    if pool is not None:
        found = read_pool(f"{path}: [pool]", path.parent, pool)
        return SpaceFile(path, found, settings, metrics)
    return SpaceFile(path, _space(path, parameters), settings, metrics)


def _metrics(path: Path, objectives: object, limits: object, direction: Direction) -> Metrics:
    for name, table in (("objectives", objectives), ("limits", limits)):
        if table is not None and not isinstance(table, dict):
            raise ValueError(f"{path} needs a table [{name}], got {table!r}.")
    try:
        return Metrics.of(
            cast("dict[str, Direction] | None", objectives),
            cast("dict[str, str] | None", limits),
            direction,
            who=str(path),
        )
    except (ValueError, TypeError) as error:
        known = str(error).startswith(str(path))
        raise ValueError(str(error) if known else f"{path}: {error}") from None


def _space(path: Path, tables: dict[str, object]) -> Space:
    parameters = {name: _parameter(f"{path}: {name!r}", name, t) for name, t in tables.items()}
    try:
        return Space(parameters)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _parsed(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))  # some editors put a mark before it
    except OSError as error:
        raise ValueError(f"{path} needs to be a readable file ({error.strerror}).") from None
    except ValueError as error:
        raise ValueError(f"{path} needs to be TOML: {error}.") from None


def _parameter(where: str, name: str, table: object) -> Parameter:
    if not name:
        raise ValueError(f"{where} needs a name, got an empty one.")
    if not isinstance(table, dict) or "type" not in table:
        raise ValueError(
            f'{where} needs a table with a type, such as {{type = "bool"}}, got {table!r} '
            "(a name with a dot needs quotes)."
        )
    options = {key: value for key, value in table.items() if key != "type"}
    if (kind := table["type"]) not in [*TYPES]:
        raise ValueError(f"{where} has an unknown type {kind!r}: {nearest(str(kind), TYPES)}")
    known = {f.name: f.default is MISSING for f in fields(TYPES[kind])}
    for key in options:
        if key not in known:
            raise ValueError(f"{where} has an unknown key {key!r}: {nearest(key, known)}")
    for key, is_required in known.items():
        if is_required and key not in options:
            raise ValueError(f"{where} needs the key {key!r}, because its type is {kind}.")
    if not isinstance(options.get("log", False), bool):
        raise ValueError(f"{where}: log needs true or false, got {options['log']!r}.")
    for key in ("choices", "values"):
        if isinstance(options.get(key), dict):
            raise ValueError(
                f"{where}: {key} needs a list, got a table: objects by label are for Python."
            )
    try:
        return TYPES[kind](**options)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
