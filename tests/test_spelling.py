"""Misspelt names are answered with the name that was meant."""

import inspect
from dataclasses import is_dataclass

import pytest

import thomax
from thomax import Float, Optimizer, maximize, minimize

SPACE = {"x": Float(0, 1)}
CLASSES = [
    item
    for name in thomax.__all__
    if is_dataclass(item := getattr(thomax, name)) and name not in ("Data", "Trial", "Space")
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
