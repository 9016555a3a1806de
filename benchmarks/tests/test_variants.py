"""Settings of our default in a method's name."""

import pytest

from benchmarks.methods import parse_method
from benchmarks.runner import Run
from benchmarks.variants import Schedule, parse_settings
from thomax import Float, Pool, Space, STOBNTSLinear
from thomax.search.settings import Search
from thomax.suggest import default_policy

SPACE = Space({f"x{i}": Float(0, 1) for i in range(6)})


def test_a_setting_changes_the_default_and_nothing_else():
    method = parse_method("auto+beta=0.25+scale_prior_std=0.5+warp_targets=false@4")
    assert method.batch == 4
    assert method.policy(SPACE) == STOBNTSLinear(
        beta=0.25, scale_prior_std=0.5, warp_targets=False
    )
    assert method.search(SPACE) == Search()
    assert method.initial is None


def test_a_schedule_ends_with_what_is_usual_or_with_its_last_number():
    usual = default_policy(SPACE).beta
    beta = parse_method("auto+beta=0.2<30").policy(SPACE).beta
    assert [beta(n) for n in (0, 29, 30, 100)] == [0.2, 0.2, usual(30), usual(100)]
    assert usual(0) != 0.2
    beta = parse_method("auto+beta=0.1<10,0.2<3d,0.6").policy(SPACE).beta
    assert [beta(n) for n in (9, 10, 17, 18)] == [0.1, 0.2, 0.2, 0.6]
    assert Schedule(((0.2, 5),), lambda n: n / 10)(7) == 0.7


def test_a_schedule_by_dimension_counts_ten_for_a_pool():
    pool = Pool([[0.0], [1.0]])
    beta = parse_method("auto+beta=0.2<2d").policy(pool).beta
    assert [beta(n) for n in (19, 20, 30)] == [0.2, 0.25, 1.0]


def test_settings_of_the_search_and_the_first_points():
    method = parse_method("auto+local_fraction=0.25+initial=5")
    assert method.search(SPACE).local_fraction == 0.25
    assert method.initial == 5
    assert method.policy(SPACE) == default_policy(SPACE)
    assert parse_method("random").initial == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("auto+gamma=1", "A setting is initial or one of .*beta.*; got 'gamma'"),
        ("auto+initial=-1", "initial needs a whole number >= 0, got '-1'"),
        ("auto+beta=0.2<", "A setting needs a number, .* got '0.2<'"),
        ("auto+beta=much", "A setting needs a number, .* got 'much'"),
        ("auto+beta=0.2,0.3", "A setting needs a number, .* got '0.2,0.3'"),
        (
            "random+beta=1",
            r"Settings are of auto, such as auto\+beta=0.2<30; got 'random\+beta=1'",
        ),
        ("auto+beta", "A method is NAME"),
    ],
)
def test_a_wrong_setting_is_one_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_method(text)


def test_no_settings_are_no_change():
    assert parse_settings("").policy(default_policy(SPACE), SPACE) == default_policy(SPACE)


def test_names_of_files_hold_no_sign_that_some_systems_refuse():
    name = Run("tanks8", "auto+beta=0.2<30+initial=5:2x64@4", 0, 3).name
    assert not set('<>:"|?*/\\') & set(name)
