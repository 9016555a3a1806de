"""What holds for every space that can be made."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made import quick, same, spaces, spaces_and_points

from thomax.space.parameters import Bool, Float, Int
from thomax.space.space import Space


@quick
@given(spaces_and_points())
def test_snapped_points_survive_decoding_bit_for_bit(case):
    """A replayed journal must be the very same data."""
    space, x = case
    snapped = space.snap(x)
    assert snapped.dtype == np.float64
    assert abs(snapped).max() <= 1
    assert not np.signbit(snapped[snapped == 0]).any()
    np.testing.assert_array_equal(space.encode(space.decode(x)), snapped)
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    assert same(space.decode(snapped), space.decode(x))


@quick
@given(spaces_and_points())
def test_decoded_params_are_canonical_python_values_within_bounds(case):
    space, x = case
    for params in space.decode(x):
        assert same(space.validate(params), params)
        for name, value in params.items():
            parameter = space.parameters[name]
            assert type(value) in (str, int, float, bool, type(None))
            if isinstance(parameter, Float | Int):
                assert type(value) is (float if isinstance(parameter, Float) else int)
                assert parameter.low <= value <= parameter.high


@quick
@given(spaces_and_points())
def test_a_parameter_is_present_exactly_where_its_condition_holds(case):
    space, x = case
    for params, row in zip(space.decode(x), space.snap(x), strict=True):
        for block in space.blocks:
            when = space.parameters[block.name].when or {}
            active = all(
                parent in params and any(same(params[parent], v) for v in values)
                for parent, values in when.items()
            )
            assert (block.name in params) == active
            assert active or not row[block.columns].any()


@quick
@given(spaces(finite=True), st.integers(1, 50))
def test_chunks_meet_every_distinct_point_once(space, rows):
    if space.size > 3000:
        space = Space({"only": Bool()})
    chunks = [*space.chunks(rows)]
    assert all(0 < len(indices) <= rows for indices, _ in chunks)
    indices = np.concatenate([indices for indices, _ in chunks])
    x = np.concatenate([x for _, x in chunks])
    assert indices.dtype == np.int64
    assert indices.tolist() == [*range(space.size)]
    assert len({repr(params) for params in space.decode(x)}) == space.size
    assert space.index(space.decode(x)) == indices.tolist()
    np.testing.assert_array_equal(space.at(indices), x)
    np.testing.assert_array_equal(space.snap(x), x)
    assert same(space.params(indices), space.decode(x))


@quick
@given(spaces_and_points(finite=True))
def test_every_point_of_a_finite_space_has_a_position(case):
    space, x = case
    positions = space.index(space.decode(x))
    assert all(type(i) is int and 0 <= i < space.size for i in positions)
    np.testing.assert_array_equal(space.at(positions), space.snap(x))


@quick
@given(spaces())
def test_spaces_are_rebuilt_from_their_description(space):
    description = json.loads(json.dumps(space.describe()))
    rebuilt = Space.from_description(description)
    assert rebuilt == space
    assert hash(rebuilt) == hash(space)
    assert same(rebuilt.describe(), space.describe())


@quick
@given(spaces())
def test_blocks_cover_the_columns_and_list_what_snapping_keeps(space):
    columns = [c for block in space.blocks for c in range(space.dimension)[block.columns]]
    assert columns == [*range(space.dimension)]
    for block in space.blocks:
        scale = space.parameters[block.name].scale
        if block.levels is None:
            assert scale.count > 1000
        else:
            assert block.levels.shape == (scale.count, scale.width)
            assert scale.nearest(block.levels).tolist() == [*range(int(scale.count))]


@quick
@given(spaces_and_points())
def test_snapping_moves_to_the_nearest_level(case):
    space, x = case
    for block in space.blocks:
        if block.levels is None:
            continue
        u = x[:, block.columns]
        nearest = space.parameters[block.name].scale.nearest(u)
        distance = ((u[:, None] - block.levels) ** 2).sum(-1)
        chosen = distance[np.arange(len(x)), nearest]
        np.testing.assert_allclose(chosen, distance.min(1), atol=1e-12)
