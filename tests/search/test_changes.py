import numpy as np
import pytest
from scores import bowl, linear

from thomax import Bool, Categorical, Float, Int, Search, Space
from thomax.model.evaluation import evaluator
from thomax.search import changes
from thomax.search.changes import has_many_changes, promised_changes
from thomax.search.maximise import maximise

FEW = Search(candidates=50, restarts=4)


def booleans(count):
    return {f"b{i}": Bool() for i in range(count)}


def test_only_spaces_of_many_levels_are_searched_by_gradients():
    assert not has_many_changes(Space({**booleans(200), "x": Float(0, 1)}))
    assert has_many_changes(Space(booleans(400)))
    assert has_many_changes(Space({"c": Categorical([f"v{i}" for i in range(1001)])}))
    assert not has_many_changes(Space({"n": Int(1, 10**6), "x": Float(0, 1)}))


def test_the_best_of_2_to_the_2000_points_is_found():
    rng = np.random.default_rng(0)
    space, weights = Space(booleans(2000)), rng.normal(size=(2, 2000))
    found = maximise(rng, linear(*weights), space, search=FEW)
    by_hand = [{f"b{i}": bool(w > 0) for i, w in enumerate(row)} for row in weights]
    assert found == by_hand


def test_the_best_choice_among_thousands_is_found_with_the_number_beside_it():
    rng = np.random.default_rng(0)
    space = Space({"c": Categorical([f"v{i}" for i in range(3000)]), "x": Float(-1, 1)})
    weights = np.append(rng.normal(size=3000), 0.5)
    [found] = maximise(rng, linear(weights), space, search=FEW)
    assert found == {"c": f"v{weights[:3000].argmax()}", "x": 1.0}


@pytest.mark.parametrize("seed", range(3))
def test_numbers_choices_and_switches_are_moved_to_their_best(seed):
    rng = np.random.default_rng(seed)
    parameters = {f"n{i}": Int(0, 20) for i in range(25)} | booleans(40)
    space = Space(parameters | {f"c{i}": Categorical([*"abcd"]) for i in range(20)})
    target = space.sample(rng, 1)[0]
    starts = space.sample(rng, 3)[None]
    end = promised_changes(evaluator(bowl(target)), space, starts)
    assert np.array_equal(end[0], np.repeat(target[None], 3, axis=0))


def test_what_comes_out_is_of_the_space_and_never_worse():
    rng = np.random.default_rng(0)
    when = {f"n{i}": Int(0, 9, when={f"b{i}": True}) for i in range(30)}
    space = Space(
        {**booleans(40), **when},
        constraint=lambda params: sum(params[f"b{i}"] for i in range(40)) <= 25,
    )
    starts = space.sample(rng, 8).reshape(2, 4, -1)
    weights = rng.normal(size=(2, space.dimension))
    end = promised_changes(evaluator(linear(*weights)), space, starts)
    assert np.array_equal(space.snap(end.reshape(8, -1)), end.reshape(8, -1))
    assert space.satisfies(end.reshape(8, -1)).all()
    before, after = (np.einsum("brd,bd->br", x, weights) for x in (starts, end))
    assert (after > before).all()


def test_small_spaces_are_searched_as_before(monkeypatch):
    def refuse(*_):
        raise AssertionError("a small space needs no gradients")

    monkeypatch.setattr("thomax.search.multistart.promised_changes", refuse)
    space = Space(booleans(30))
    maximise(np.random.default_rng(0), linear(np.ones(30)), space, search=FEW)
    monkeypatch.setattr(changes, "MOST_CHANGES", 59)
    with pytest.raises(AssertionError, match="needs no gradients"):
        maximise(np.random.default_rng(0), linear(np.ones(30)), space, search=FEW)
