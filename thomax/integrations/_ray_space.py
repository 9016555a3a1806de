"""The search spaces of Ray Tune as thomax spaces, and configs as params.

Tune's configs are nested and hold what a Space cannot: choices of any kind, and log scales with a
step. A Layout remembers where each parameter stands, and in which form.
"""

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ray.tune.search import sample
from ray.tune.search.variant_generator import parse_spec_vars

from thomax.space.parameters import Categorical, Float, Int, Parameter
from thomax.space.pool import Pool
from thomax.space.space import Space
from thomax.space.values import copied, python_scalar


@dataclass(frozen=True)
class Layout:
    """Where the params of a flat space stand in Tune's nested config, and in which form.

    What a Space cannot hold it holds as whole numbers: `choices` lists the options of those that
    stand for a position, `multiples` the unit of those that count units.
    """

    space: Space | Pool
    paths: dict[str, list[Any]]
    choices: dict[str, list[Any]] = field(default_factory=dict)
    multiples: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> "Layout":
        """Translate the domains of Tune and the parameters of thomax in a nested config."""
        resolved, domains, grids = parse_spec_vars(dict(config))
        own = [(path, value) for path, value in resolved if isinstance(value, Parameter)]
        parameters: dict[str, Parameter] = {}
        paths: dict[str, list[Any]] = {}
        choices: dict[str, list[Any]] = {}
        multiples: dict[str, Any] = {}
        for path, value in [*own, *domains, *grids]:
            name = _checked_name(config, path, paths)
            paths[name] = list(path)
            if isinstance(value, sample.Categorical):
                parameters[name] = _categorical(name, value, choices)
            elif isinstance(value, sample.Domain):
                parameters[name] = _number(name, value, multiples)
            else:
                parameters[name] = value
        if not parameters:
            raise ValueError(
                f"ThomaxSearch needs at least one domain to search, got {dict(config)}: "
                "use tune.uniform, tune.randint, tune.choice and the like."
            )
        return cls(Space(parameters), paths, choices, multiples)

    def nest(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the config of flat params."""
        config: dict[str, Any] = {}
        for name, value in params.items():
            inner, (*parents, key) = config, self.paths[name]
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[key] = self._outside(name, value)
        return config

    def flatten(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params in a config; what else is in it is none of ours."""
        params = {}
        for name, path in self.paths.items():
            inner: Any = config
            for key in path:
                if not isinstance(inner, Mapping) or key not in inner:
                    break
                inner = inner[key]
            else:
                params[name] = self._inside(name, inner)
        return params

    def _outside(self, name: str, value: Any) -> Any:
        if name in self.choices:
            return copied(self.choices[name][value])
        if name in self.multiples:
            unit = self.multiples[name]
            return type(unit)(Decimal(repr(unit)) * value)  # 0.3, not 0.30000000000000004
        return value

    def _inside(self, name: str, value: Any) -> Any:
        if name in self.choices:
            if value not in self.choices[name]:
                raise ValueError(
                    f"Parameter {name!r} needs one of {self.choices[name]}, got {value!r}."
                )
            return self.choices[name].index(value)
        if name in self.multiples:
            unit, number = self.multiples[name], python_scalar(value)
            is_number = isinstance(number, int | float) and math.isfinite(number)
            if not is_number or not math.isclose(number / unit, round(number / unit)):
                raise ValueError(f"Parameter {name!r} needs a multiple of {unit}, got {value!r}.")
            return round(number / unit)
        return value

    def is_that_of(self, config: Mapping[str, Any]) -> bool:
        """Say whether the domains of a config are the ones that were read before."""
        _, domains, grids = parse_spec_vars(dict(config))
        return bool(domains or grids) and Layout.read(config).describe() == self.describe()

    def describe(self) -> dict[str, Any]:
        """Return the layout as a JSON-able dictionary; choices that are no literals are None."""
        return {
            "space": self.space.describe(),
            "paths": self.paths,
            "choices": {name: _literal(options) for name, options in self.choices.items()},
            "multiples": self.multiples,
        }

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> "Layout":
        """Rebuild the layout that `describe` described."""
        space, choices = description["space"], description["choices"]
        is_whole = space["kind"] == "space" and not space["constraint"]
        if not is_whole or None in choices.values() or _holds_labels(space):
            raise ValueError(
                "The file does not hold pools, constraints, and choices among objects: "
                "make ThomaxSearch with the same space, then restore."
            )
        options = {name: ast.literal_eval(text) for name, text in choices.items()}
        rebuilt = Space.from_description(space)
        return cls(rebuilt, description["paths"], options, description["multiples"])


def own_layout(space: Space | Pool | Mapping[str, Any]) -> Layout:
    """Read a space given to ThomaxSearch itself, where Tune merges no constants back."""
    if isinstance(space, Pool):
        return Layout(space, {"index": ["index"]})
    if isinstance(space, Space):
        return Layout(space, {name: [name] for name in space.parameters})
    constants = [
        path for path, v in parse_spec_vars(dict(space))[0] if not isinstance(v, Parameter)
    ]
    if constants:
        raise ValueError(
            "The space of ThomaxSearch holds what is searched, got the constant "
            f"{_joined(constants[0])!r}: move it to the param_space of Tuner."
        )
    return Layout.read(space)


def refuse_conditions(config: Mapping[str, Any]) -> None:
    """Refuse them in Tune's config: Tune would hand an inactive parameter to the trial."""
    for path, value in parse_spec_vars(dict(config))[0]:
        if isinstance(value, Parameter) and value.when:
            raise ValueError(
                f"Tune's param_space has no conditions, got when= for {_joined(path)!r}: "
                "give the parameters to ThomaxSearch(space=...)."
            )


def _joined(path: Sequence[Any]) -> str:
    return "/".join(str(key) for key in path)


def _checked_name(config: Any, path: Sequence[Any], taken: Mapping[str, Any]) -> str:
    name = _joined(path)
    if name in taken:
        raise ValueError(f"Two parameters are called {name!r}: rename one.")
    for key in path:
        if not isinstance(config, Mapping):
            raise ValueError(
                f"ThomaxSearch needs domains in dictionaries, got {name!r} in a list: "
                "name its elements in a dict."
            )
        config = config[key]
    return name


def _categorical(name: str, domain: Any, choices: dict[str, list[Any]]) -> Categorical:
    """Translate a choice; what a Categorical refuses is chosen by its position."""
    options = domain.categories
    if domain.is_grid():
        raise ValueError(
            f"ThomaxSearch does not walk grids, got grid_search for {name!r}: use tune.choice."
        )
    if any(_holds_domain(option) for option in options):
        raise ValueError(
            f"ThomaxSearch needs choices without domains inside, got {name!r}: "
            "give it space= with thomax parameters and conditions (when=)."
        )
    try:
        return Categorical(options)
    except ValueError:
        choices[name] = list(options)
        return Categorical(range(len(options)))


def _holds_domain(value: Any) -> bool:
    return any(parse_spec_vars({"value": value})[1:])


def _number(name: str, domain: Any, multiples: dict[str, Any]) -> Float | Int:
    sampler, q = domain.get_sampler(), None
    if isinstance(sampler, sample.Quantized):
        sampler, q = sampler.get_sampler(), sampler.q
    is_log = isinstance(sampler, sample.LogUniform)
    if not is_log and not isinstance(sampler, sample.Uniform):
        raise ValueError(
            f"ThomaxSearch needs bounds for {name!r}, got tune.sample_from, tune.randn or the "
            "like: use tune.uniform, tune.loguniform, tune.randint or tune.choice, or give it "
            "space= with thomax parameters, whose conditions (when=) depend on each other."
        )
    try:
        if q is not None and is_log:  # no parameter has both: count in units of q
            multiples[name] = python_scalar(q)
            return Int(*_in_units(domain, q), log=True)
        if isinstance(domain, sample.Float):
            return Float(domain.lower, domain.upper, log=is_log, step=q)
        if q in (None, 1):
            return Int(domain.lower, domain.upper - 1, log=is_log)
        low, high = _in_units(domain, q)
        return Int(low * q, high * q, step=q if low < high else 1)
    except ValueError as error:
        raise ValueError(f"Parameter {name!r}: {error}") from None


def _in_units(domain: Any, q: Any) -> tuple[int, int]:
    """Return the first and the last multiple of q in the bounds, both of which are included."""
    slack = 1e-9  # 0.3 / 0.1 is a little less than 3
    return math.ceil(domain.lower / q - slack), math.floor(domain.upper / q + slack)


def _holds_labels(space: Mapping[str, Any]) -> bool:
    return any(parameter.get("labelled") for parameter in space["parameters"])


def _literal(value: Any) -> str | None:
    """Return the Python literal that gives a value back, if there is one: JSON has no tuples."""
    try:
        return repr(value) if ast.literal_eval(repr(value)) == value else None
    except (ValueError, SyntaxError, TypeError):
        return None
