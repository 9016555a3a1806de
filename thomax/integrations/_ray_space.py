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
from thomax.support.types import Params, ParamsLike

Config = Mapping[str, Any]  # of Tune: nested, with domains or values in it
Options = list[Any]  # choices may be any objects
Path = Sequence[str]  # the keys that lead to a parameter


@dataclass(frozen=True)
class Layout:
    """Where the params of a flat space stand in Tune's nested config, and in which form.

    What a Space cannot hold is searched as whole numbers.

    Args:
        space: The flat space.
        paths: The keys that lead to each parameter in the config.
        choices: The options of parameters that are searched as a position in a list.
        multiples: The unit of parameters that are searched as a number of units.
    """

    space: Space | Pool
    paths: dict[str, Path]
    choices: dict[str, Options] = field(default_factory=dict)
    multiples: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, config: Config) -> "Layout":
        """Translate the domains of Tune and the parameters of thomax in a nested config.

        Args:
            config: Tune's `param_space`.
        """
        resolved, domains, grids = parse_spec_vars(dict(config))
        own = [(path, value) for path, value in resolved if isinstance(value, Parameter)]
        parameters: dict[str, Parameter] = {}
        paths: dict[str, Path] = {}
        choices: dict[str, Options] = {}
        multiples: dict[str, float] = {}
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

    def nest(self, params: ParamsLike) -> Params:
        """Return the config of flat params.

        Args:
            params: A point of the flat space.
        """
        config: Params = {}
        for name, value in params.items():
            inner, (*parents, key) = config, self.paths[name]
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[key] = self._outside(name, value)
        return config

    def flatten(self, config: Config) -> Params:
        """Return the params in a config, and nothing else that is in it.

        Args:
            config: A nested config.
        """
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

    def is_that_of(self, config: Config) -> bool:
        """Return whether the domains of a config are the ones that were read before.

        Args:
            config: Tune's `param_space`.
        """
        _, domains, grids = parse_spec_vars(dict(config))
        return bool(domains or grids) and Layout.read(config).describe() == self.describe()

    def describe(self) -> Params:
        """Return the layout as a JSON-able dictionary; choices that are no literals are None."""
        return {
            "space": self.space.describe(),
            "paths": self.paths,
            "choices": {name: _literal(options) for name, options in self.choices.items()},
            "multiples": self.multiples,
        }

    @classmethod
    def from_description(cls, description: ParamsLike) -> "Layout":
        """Rebuild the layout that `describe` described.

        Args:
            description: What `describe` returned.
        """
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


def own_layout(space: Space | Pool | Config) -> Layout:
    """Read a space given to ThomaxSearch itself, where Tune merges no constants back.

    Args:
        space: What ThomaxSearch was given.
    """
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


def refuse_conditions(config: Config) -> None:
    """Refuse conditions in Tune's config: Tune would hand an inactive parameter to the trial.

    Args:
        config: Tune's `param_space`.
    """
    for path, value in parse_spec_vars(dict(config))[0]:
        if isinstance(value, Parameter) and value.when:
            raise ValueError(
                f"Tune's param_space has no conditions, got when= for {_joined(path)!r}: "
                "give the parameters to ThomaxSearch(space=...)."
            )


def _joined(path: Path) -> str:
    return "/".join(str(key) for key in path)


def _checked_name(config: object, path: Path, taken: Mapping[str, Path]) -> str:
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


def _categorical(
    name: str, domain: sample.Categorical, choices: dict[str, Options]
) -> Categorical:
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


def _holds_domain(value: object) -> bool:
    return any(parse_spec_vars({"value": value})[1:])


def _number(name: str, domain: sample.Domain, multiples: dict[str, float]) -> Float | Int:
    sampler, q = domain.get_sampler(), None
    if isinstance(sampler, sample.Quantized):
        sampler, q = sampler.get_sampler(), sampler.q
    is_log = isinstance(sampler, sample.LogUniform)
    has_bounds = is_log or isinstance(sampler, sample.Uniform)
    if not has_bounds or not isinstance(domain, sample.Float | sample.Integer):
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


def _in_units(domain: sample.Float | sample.Integer, q: float) -> tuple[int, int]:
    """Return the first and the last multiple of q in the bounds, both of which are included."""
    slack = 1e-9  # 0.3 / 0.1 is a little less than 3
    return math.ceil(domain.lower / q - slack), math.floor(domain.upper / q + slack)


def _holds_labels(space: ParamsLike) -> bool:
    return any(parameter.get("labelled") for parameter in space["parameters"])


def _literal(value: object) -> str | None:
    """Return the Python literal that gives a value back, if there is one: JSON has no tuples."""
    try:
        return repr(value) if ast.literal_eval(repr(value)) == value else None
    except (ValueError, SyntaxError, TypeError):
        return None
