"""Misspelt names are answered with the name that was meant."""

import inspect
from dataclasses import is_dataclass

import pytest

import thomax
from thomax import Float, Optimizer, Pool, Space, maximize, minimize
from thomax.support.spelling import nearest

SPACE = {"x": Float(0, 1)}
NOT_MADE_BY_USERS = ("Correction", "Data", "Prediction", "Space", "Trial")
CLASSES = [
    item
    for name in thomax.__all__
    if is_dataclass(item := getattr(thomax, name)) and name not in NOT_MADE_BY_USERS
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_misspelt_setting_of_a_class_is_explained(kind):
    """Row 20: policies, networks, parameters and the search."""
    meant = [*inspect.signature(kind).parameters]
    if not meant:
        pytest.skip("it has no settings")
    wrong = f"{meant[-1]}x"
    with pytest.raises(
        TypeError, match=f"{kind.__name__} has no argument '{wrong}': did you mean"
    ):
        kind(**{wrong: 1})


def test_a_misspelt_option_is_explained_before_anything_happens(tmp_path):
    """Row 20: of the optimiser, of a run, and of both in one call."""
    with pytest.raises(TypeError, match=r"Optimizer has no argument 'sede': did you mean 'seed'"):
        Optimizer(SPACE, sede=0)
    with pytest.raises(TypeError, match=r"run has no argument 'bacth': did you mean 'batch'\?"):
        Optimizer(SPACE).run(lambda p: 0.0, 3, bacth=2)
    journal = tmp_path / "run.jsonl"
    for function in (maximize, minimize):
        for wrong, meant in {"trails": "trials", "jurnal": "journal", "give": "give_up"}.items():
            with pytest.raises(TypeError, match=f"{function.__name__} has no .* mean '{meant}'"):
                function(lambda p: 0.0, SPACE, journal=journal, **{wrong: 3})
    assert not journal.exists()
    with pytest.raises(TypeError, match=r"run has no argument 'zzz': known are objective, trials"):
        Optimizer(SPACE).run(lambda p: 0.0, 3, zzz=2)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: Space(SPACE, constrain=any), "Space .* 'constrain': did you mean 'constraint'"),
        (lambda: Pool([[1.0]], nmaes=["a"]), "Pool has no .* 'nmaes': did you mean 'names'"),
        (lambda: Optimizer(SPACE).ask(number=2), "ask has no .* 'number': known are n"),
        (lambda: Optimizer(SPACE).tell({"x": 0}, eror="no"), "tell has no .* mean 'error'"),
        (lambda: Optimizer(SPACE).tell_all([], as_ran=True), "tell_all has no .* mean 'as_run'"),
    ],
)
def test_a_misspelt_keyword_of_spaces_asking_and_telling_is_explained(wrong, sentence):
    """Row 20: the calls of everybody's first script."""
    with pytest.raises(TypeError, match=sentence):
        wrong()


@pytest.mark.parametrize("space", [{"learning_rate": Float(0, 1)}, Pool([[1.0]], names=["a"])])
def test_a_misspelt_parameter_that_is_told_or_enqueued_is_explained(space):
    """Row 20: as keywords are."""
    optimizer = Optimizer(space)
    meant, wrong = ("learning_rate", "lerning_rate")
    if isinstance(space, Pool):
        meant, wrong = ("index", "indx")
    for call in (lambda p: optimizer.tell(p, 1.0), optimizer.enqueue):
        with pytest.raises(ValueError, match=f"'{wrong}'.*: did you mean '{meant}'"):
            call({wrong: 0})
    assert not optimizer.trials


def test_of_very_many_known_names_some_are_listed():
    names = [f"parameter{n}" for n in range(5000)]
    hint = nearest("zzz", names)
    assert hint.startswith("known are parameter0, parameter1, ")
    assert hint.endswith("parameter19, ... 5000 in all.")
