import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thomax.space.numbering import Numbering, checked_indices


def one_of(*levels):
    return frozenset(levels)


@st.composite
def counts_and_conditions(draw):
    counts, conditions = {}, {}
    for name in "abcde"[: draw(st.integers(1, 5))]:
        parents = draw(st.lists(st.sampled_from([*counts]), max_size=2)) if counts else []
        conditions[name] = {
            parent: draw(st.frozensets(st.integers(0, counts[parent] - 1), min_size=1))
            for parent in parents
        }
        counts[name] = draw(st.integers(1, 4))
    return {name: counts[name] for name in draw(st.permutations([*counts]))}, conditions


def active_part(point, conditions):
    kept = {}
    for name, parents in conditions.items():
        if all(kept.get(parent) in allowed for parent, allowed in parents.items()):
            kept[name] = point[name]
    return tuple(kept.items())


def points_at(numbering, conditions, positions):
    codes = numbering.codes(positions)
    rows = zip(*(codes[name].tolist() for name in conditions), strict=True)
    return [active_part(dict(zip(conditions, row, strict=True)), conditions) for row in rows]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(counts_and_conditions())
def test_every_distinct_point_has_one_position(case):
    """Compare with listing all points and throwing away what inactive parameters add."""
    counts, conditions = case
    listed = itertools.product(*(range(counts[name]) for name in conditions))
    expected = {active_part(dict(zip(conditions, row, strict=True)), conditions) for row in listed}
    numbering = Numbering(counts, conditions)
    assert numbering.size == len(expected)
    assert {*points_at(numbering, conditions, range(numbering.size))} == expected


@settings(max_examples=150, deadline=None, derandomize=True)
@given(counts_and_conditions())
def test_positions_do_not_depend_on_the_levels_of_inactive_parameters(case):
    counts, conditions = case
    listed = np.array([*itertools.product(*(range(counts[name]) for name in conditions))])
    codes = dict(zip(conditions, listed.T, strict=True))
    numbering = Numbering(counts, conditions)
    points = [active_part(dict(zip(conditions, row, strict=True)), conditions) for row in listed]
    assert points_at(numbering, conditions, numbering.positions(codes)) == points


@pytest.mark.parametrize("count", [2, 9, 1000])
def test_one_branch_around_and_beyond_int64_keeps_its_positions(count):
    nested = {f"x{i}": {"on": one_of(1)} for i in range(63)}
    numbering = Numbering({"on": 2} | dict.fromkeys(nested, count), {"on": {}} | nested)
    positions = [0, 1, 2**62, numbering.size - 1]
    assert numbering.size == 1 + count**63
    assert numbering.positions(numbering.codes(positions)) == positions


def test_long_chains_and_many_switches_are_counted():
    chain = {"x0": {}} | {f"x{i}": {f"x{i - 1}": one_of(1)} for i in range(1, 60)}
    assert Numbering(dict.fromkeys(chain, 2), chain).size == 61
    switches = {f"s{i}": {} for i in range(40)}
    children = {f"c{i}": {f"s{i}": one_of(1)} for i in range(40)}
    counts = dict.fromkeys(switches, 2) | dict.fromkeys(children, 3)
    assert Numbering(counts, switches | children).size == 4**40


def test_layers_with_choices_of_their_own_are_counted_without_listing_their_combinations():
    """Layer i exists in networks of at least i layers: 3 + 2 + 3 + 1 kinds of each, 9^n of n."""
    layers = 30
    counts, conditions = {"layers": layers}, {"layers": {}}
    for i in range(layers):
        counts |= {f"kind{i}": 4, f"kernel{i}": 3, f"pool{i}": 2, f"units{i}": 3}
        conditions[f"kind{i}"] = {"layers": frozenset(range(i, layers))}
        kinds = enumerate([f"kernel{i}", f"pool{i}", f"units{i}"])
        conditions |= {name: {f"kind{i}": one_of(kind)} for kind, name in kinds}
    numbering = Numbering(counts, conditions)
    assert numbering.size == sum(9**n for n in range(1, layers + 1))
    positions = [0, 8, 9, 9**20, numbering.size - 1]
    assert numbering.positions(numbering.codes(positions)) == positions


def test_a_parameter_of_two_parents_is_counted_along_a_long_chain():
    """Of n switches in a row with a child between any two that are on: count by the last one."""
    switches = {f"s{i}": {} for i in range(100)}
    children = {f"c{i}": {f"s{i}": one_of(1), f"s{i + 1}": one_of(1)} for i in range(99)}
    counts = dict.fromkeys(switches, 2) | dict.fromkeys(children, 3)
    off, on = 1, 1
    for _ in range(99):
        off, on = off + on, off + 3 * on
    assert Numbering(counts, switches | children).size == off + on


def test_a_huge_parent_counts_without_listing_its_levels():
    conditions = {"n": {}, "deep": {"n": one_of(0, 5)}}
    numbering = Numbering({"n": 10**12 + 1, "deep": 2}, conditions)
    codes = numbering.codes([0, 1, 2, 3, 4, 7, 8])
    assert numbering.size == 10**12 + 1 + 2
    assert codes["n"].tolist() == [0, 0, 5, 5, 1, 4, 6]
    assert codes["deep"].tolist() == [0, 1, 0, 1, 0, 0, 0]
    assert numbering.positions(codes) == [0, 1, 2, 3, 4, 7, 8]


@pytest.mark.parametrize("wrong", [-1, 3, 2**70, -(2**70)])
def test_indices_outside_are_named(wrong):
    assert checked_indices([0, 2], 3).tolist() == [0, 2]
    with pytest.raises(ValueError, match=f"index needs 0 <= index < 3, got {wrong}"):
        checked_indices([0, wrong], 3)


def test_indices_beyond_int64_stay_exact():
    assert checked_indices([2**64 + 1], 2**65).tolist() == [2**64 + 1]
