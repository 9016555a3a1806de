"""Row 20: choices of any kind, known by their labels."""

import copy
import json
import pickle
import warnings

import numpy as np
import pytest

from thomax import Bool, Categorical, Float, Optimizer, Ordinal, Random, Space


class Kernel:
    """An object that equals only itself."""


KERNEL = Kernel()
LAYERS = {"small": (64,), "large": (64, 64)}
MIXED = {"list": [1, [2]], "dict": {"a": 1}, "object": KERNEL, "array": np.arange(3), "none": None}


def space(**options):
    return Space(
        {
            "layers": Ordinal(LAYERS),
            "mixed": Categorical(MIXED, when={"layers": "large"}),
            "x": Float(0, 1),
        },
        **options,
    )


def test_trials_hold_objects_and_the_journal_their_labels(tmp_path):
    path = tmp_path / "run.jsonl"
    with Optimizer(space(), Random(), seed=0, initial=12, journal=path) as search:
        asked = search.ask(12)
        assert {trial.params["layers"] for trial in asked} == {(64,), (64, 64)}
        for trial in asked[:2]:
            search.tell(trial, float(len(trial.params["layers"])))
        assert search.best.params["layers"] == (64, 64)
        kinds = {type(t.params["mixed"]) for t in search.trials if "mixed" in t.params}
        assert Kernel in kinds
        frame = search.to_dataframe()
        report = search.report(tmp_path / "report.html").read_text("utf-8")
    assert {*frame["layers"]} == {"small", "large"}
    assert "large" in report
    assert "(64, 64)" not in report
    header, *records = [json.loads(line)["record"] for line in path.read_text().splitlines()]
    assert header["space"]["parameters"][0] == {
        "name": "layers", "type": "Ordinal", "values": ["small", "large"], "labelled": True,
    }  # fmt: skip
    assert {r["params"]["layers"] for r in records if "ask" in r} == {"small", "large"}
    with Optimizer(space(), Random(), journal=path) as again:
        assert [t.params["layers"] for t in again.trials] == [
            t.params["layers"] for t in search.trials
        ]
    with pytest.raises(ValueError, match="layers"):
        Optimizer(Space({"layers": Ordinal([*LAYERS]), "x": Float(0, 1)}), journal=path)


@pytest.mark.parametrize("label", MIXED)
def test_points_may_be_given_by_objects_or_labels(label):
    point = {"layers": (64, 64), "mixed": MIXED[label], "x": 0.5}
    canonical = {"layers": "large", "mixed": label, "x": 0.5}
    known = space()
    assert known.validate(point) == known.validate(canonical) == canonical
    assert known.with_labels(point) == known.with_labels(canonical) == canonical
    np.testing.assert_array_equal(known.encode([point]), known.encode([canonical]))
    assert known.decode(known.encode([point])) == [canonical]
    assert repr(known.with_objects(canonical)) == repr(point)
    finite = Space({"mixed": Categorical(MIXED)})
    assert finite.index([{"mixed": MIXED[label]}]) == [[*MIXED].index(label)]
    search = Optimizer(known, Random(), seed=0)
    search.enqueue(point)
    assert repr(search.ask().params) == repr(point)
    assert repr(search.tell(point, 1.0).params) == repr(point)
    assert repr(search.tell(canonical, 1.0).params) == repr(point)


def test_a_value_that_is_neither_object_nor_label_is_refused():
    with pytest.raises(
        ValueError, match=r"'layers' needs one of the labels \['small', 'large'\], got \[64"
    ):
        space().validate({"layers": [64], "x": 0.5})


def test_the_constraint_gets_objects():
    deep = space(constraint=lambda p: len(p["layers"]) == 2 and p["mixed"] is not None)
    found = deep.decode(deep.sample(np.random.default_rng(0), 50))
    assert {p["layers"] for p in found} == {"large"}
    assert {p["mixed"] for p in found} == {*MIXED} - {"none"}


def test_conditions_name_labels():
    with pytest.raises(ValueError, match=r"'kernel' needs one of the labels \['a', 'b'\], got <"):
        Space({"kernel": Categorical({"a": KERNEL, "b": 1}), "on": Bool(when={"kernel": KERNEL})})


def test_a_description_brings_back_labels_that_stand_for_themselves():
    """Whoever rebuilds a space from a journal's header sees that objects are missing."""
    described = json.loads(json.dumps(space().describe()))
    rebuilt = Space.from_description(described)
    assert rebuilt.describe() == described
    assert rebuilt == space() == copy.deepcopy(space()) == pickle.loads(pickle.dumps(space()))
    assert rebuilt != Space(dict(rebuilt.parameters) | {"layers": Ordinal([*LAYERS])})
    point = {"layers": "small", "x": 0.5}
    assert rebuilt.with_objects(rebuilt.validate(point)) == point


def test_labelled_parameters_print_and_compare_as_they_are_written():
    layers = Categorical(LAYERS)
    assert repr(layers) == "Categorical({'small': (64,), 'large': (64, 64)})"
    many = Categorical({f"n{i}": (i,) for i in range(9)})
    assert repr(many).endswith("'n7': (7,), ... 9 in all})")
    assert layers == Categorical(dict(LAYERS)) != Categorical(dict(reversed(LAYERS.items())))
    assert hash(layers) == hash(Categorical(dict(LAYERS)))
    arrays = [Categorical({"a": np.arange(3), "b": 1}) for _ in range(2)]
    assert arrays[0] == arrays[1] != Categorical({"a": np.arange(4), "b": 1})


def test_what_is_done_to_an_object_of_a_trial_stays_there():
    """Row 9: lists, dicts and what is in them are the trial's own, however they are handed out."""
    given = {"deep": [64, [32]], "flat": {"width": 8}}
    seen = []

    def is_spoilt(layers):
        return layers not in ([64, [32]], {"width": 8})

    def spoil(layers):
        assert not is_spoilt(layers)
        layers.clear()

    def objective(params):
        spoil(params["layers"])
        return 0.0

    def allowed(params):
        spoil(params["layers"])
        return True

    def callback(_, trial):
        spoil(trial.params["layers"])
        seen.append(trial.number)

    known = Space({"layers": Categorical(given), "x": Float(0, 1)}, constraint=allowed)
    given["deep"][1].clear()
    search = Optimizer(known, Random(), seed=0)
    search.run(objective, 6, progress=False, callbacks=[callback, callback])
    search.run(objective, 4, batch=2, progress=False)
    spoil(search.best.params["layers"])
    spoil(search.tell({"layers": [64, [32]], "x": 0.5}, 1.0).params["layers"])
    assert len(seen) == 12
    assert not any(is_spoilt(t.params["layers"]) for t in search.trials)


@pytest.mark.parametrize("nest", [lambda a: a, lambda a: (a, {"b": [a]})], ids=["bare", "nested"])
def test_an_array_among_the_choices_is_not_shared(nest):
    """Row 9: what user code does to it would change the choice, and all later trials."""
    array = np.array([0.0, np.nan])
    search = Optimizer({"k": Categorical({"one": nest(array), "two": 2})}, Random(), seed=0)
    array[0] = 5

    def first(params):
        return params["k"] if isinstance(params["k"], np.ndarray) else params["k"][0]

    def objective(params):
        if not isinstance(params["k"], int):
            assert first(params)[0] == 0
            first(params)[0] = 7
        return 1.0

    search.run(objective, 2, progress=False)
    trial = next(t for t in search.trials if not isinstance(t.params["k"], int))
    assert first(trial.params)[0] == 0
    search.enqueue(trial.params)
    asked = search.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search.tell(asked, 2.0).state == "complete"
