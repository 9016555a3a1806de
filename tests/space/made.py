"""Random parameters and spaces, and the one space that many tests look at."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from thomax.space.parameters import Bool, Categorical, Float, Int, Ordinal
from thomax.space.space import Space

quick = settings(max_examples=150, deadline=None, derandomize=True)


def json_scalars():
    numbers = st.integers(-5, 5) | st.floats(-5, 5).map(lambda v: v + 0.0)
    return st.none() | st.booleans() | numbers | st.text(max_size=3)


def options():
    return st.lists(json_scalars(), min_size=1, max_size=5, unique_by=lambda v: (v is True, v))


def distinct(values):
    return len({(isinstance(v, bool), v) for v in values}) == len(values)


@st.composite
def floats(draw, when=None):
    low = draw(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1e-9, 1.0, -3.0]))
    width = draw(st.sampled_from([1e-12, 1e-3, 1.0, 10.0, 1e12]))
    if low + width == low:
        width = max(abs(low), 1.0)
    if low > 1e-200 and draw(st.booleans()):
        return Float(low, low + width, log=True, when=when)
    if draw(st.booleans()):
        return Float(low, low + width, when=when)
    low = draw(st.sampled_from([0.0, -0.7, 1e-3, 5.0]))
    width, step = draw(st.sampled_from([(1, 0.1), (1, 0.25), (0.9, 0.3), (1, 1)]))
    return Float(low, round(low + width, 9), step=step, when=when)


@st.composite
def ints(draw, when=None):
    low, width = draw(st.integers(-20, 20)), draw(st.integers(0, 12))
    if low >= 1 and draw(st.booleans()):
        return Int(low, low + width, log=True, when=when)
    step = draw(st.integers(1, max(width, 1)))
    return Int(low, low + width // step * step, step=step, when=when)


@st.composite
def parameters(draw, when=None, finite=False):
    kind = draw(st.sampled_from(["int", "categorical", "ordinal", "bool", "float"]))
    if kind == "float" and not finite:
        return draw(floats(when))
    if kind == "categorical":
        return Categorical(draw(options().filter(distinct)), when=when)
    if kind == "ordinal":
        return Ordinal(draw(options().filter(distinct)), when=when)
    return Bool(when=when) if kind == "bool" else draw(ints(when))


def same(a, b):
    """Equality that tells True from 1 and 1 from 1.0."""
    return repr(a) == repr(b)


def levels_of(parameter):
    return [parameter.value_of(level) for level in range(int(parameter.scale.count))]


@st.composite
def spaces(draw, finite=False):
    made = {}
    for name in draw(st.permutations(["a", "b", "ç", "d d", "е"]))[: draw(st.integers(1, 5))]:
        parents = [n for n, p in made.items() if p.scale.count < 100]
        chosen = draw(st.lists(st.sampled_from(parents), max_size=2)) if parents else []
        when = {
            parent: draw(st.lists(st.sampled_from(levels_of(made[parent])), min_size=1))
            for parent in chosen
        }
        made[name] = draw(parameters(when or None, finite))
    names = draw(st.permutations([*made]))  # conditions may refer to later parameters
    return Space({name: made[name] for name in names})


@st.composite
def spaces_and_points(draw, finite=False):
    space = draw(spaces(finite))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return space, rng.uniform(-1.2, 1.2, (20, space.dimension))


def tuning(**options):
    return Space(
        {
            "optimiser": Categorical(["adam", "sgd"]),
            "momentum": Float(0, 1, step=0.25, when={"optimiser": "sgd"}),
            "nesterov": Bool(when={"momentum": [0.5, 0.75]}),
            "layers": Int(1, 3),
            "width_3": Int(4, 16, log=True, when={"layers": 3}),
        },
        **options,
    )


def is_short(params):
    return params["layers"] < 3
