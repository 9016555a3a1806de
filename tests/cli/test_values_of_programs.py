"""The value is a number or in a JSON object, on the last line or in a file."""

import pytest

from thomax.cli.values import ValueRule, last_line
from thomax.storage.outcomes import Failure, Result


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5", 0.5),
        (" -1e-3 \n", -1e-3),
        ("7", 7.0),
        ('{"value": 2}', 2.0),
        ('{"loss": 1, "value": -0.5}', -0.5),
    ],
)
def test_a_number_or_an_object_with_a_value_is_read(text, number):
    assert ValueRule().one(text, "it") == number


@pytest.mark.parametrize(
    "text",
    [
        *["", "done", "value=3", "true", '"3"', "[]", "[[1]]", "null", "{}", "[" * 100_000],
        *['{"value": "3"}', '{"value": true}', '{"value": null}', '{"loss": 1}'],
        '{"value": 1' + "0" * 400 + "}",
    ],
)
def test_anything_else_is_refused_and_shown(text):
    with pytest.raises(Failure, match=r"it needs to be a number or a JSON object .* got '"):
        ValueRule().one(text, "it")


@pytest.mark.parametrize(
    "text", ["2024_05_17", "1_0", "0x10", "١٢", "１２", '{"value": 1_0}', '{"value": ١٢}', "1,5"]
)
def test_what_only_python_takes_for_a_number_is_a_failure_with_what_was_printed(text):
    """Row 3: 2024_05_17 was the value 20240517."""
    with pytest.raises(Failure, match=r"it needs to be a number .* got '") as caught:
        ValueRule().one(text, "it")
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["nan", "-inf", '{"value": NaN}', "1e999"])
def test_a_value_is_finite(text):
    with pytest.raises(Failure, match=r"the value was -?(nan|inf)"):
        ValueRule().one(text, "it")


@pytest.mark.parametrize("text", ["[1, 2.5]", '{"value": [1, 2.5]}'])
def test_a_list_is_repeated_measurements(text):
    assert ValueRule().one(text, "it") == [1.0, 2.5]
    with pytest.raises(Failure, match="the value was nan"):
        ValueRule().one(text.replace("2.5", "NaN"), "it")


def test_what_is_known_of_the_noise_stands_beside_the_value():
    assert ValueRule().one('{"value": 2, "noise_std": 0.5}', "it") == Result(2.0, 0.5)
    assert ValueRule().one('{"value": [1, 2], "noise_std": 0}', "it") == Result([1.0, 2.0], 0.0)
    assert ValueRule().one('{"value": 2, "noise_std": null}', "it") == 2
    rule = ValueRule.parse(":test.acc")
    text = '{"test": {"acc": 0.5, "noise_std": 0.1}, "noise_std": 9}'
    assert rule.one(text, "it") == Result(0.5, 0.1)


@pytest.mark.parametrize("std", ["-1", "NaN", "Infinity", '"much"', "true", "[1]", '{"value": 1}'])
def test_noise_that_is_no_deviation_is_a_failure_in_a_sentence(std):
    with pytest.raises(Failure, match=r"it needs a number >= 0 as noise_std, got "):
        ValueRule().one(f'{{"value": 2, "noise_std": {std}}}', "it")


def test_a_key_may_lead_into_an_object_or_have_a_dot_itself():
    rule = ValueRule.parse(":test.acc")
    assert rule.one('{"test": {"acc": 0.5}}', "it") == 0.5
    assert rule.one('{"test.acc": 0.25, "test": {"acc": 0.5}}', "it") == 0.25
    for wrong in ('{"test": 0.5}', '{"test": {}}', '{"acc": 1}'):
        with pytest.raises(Failure, match=r"as 'test\.acc'"):
            rule.one(wrong, "it")


@pytest.mark.parametrize(
    ("text", "file", "key"),
    [
        ("m.json", "m.json", "value"),
        ("m.json:acc", "m.json", "acc"),
        (":acc", None, "acc"),
        ("c:/m.json", "c:/m.json", "value"),
        ("c:\\m.json:acc", "c:\\m.json", "acc"),
    ],
)
def test_a_rule_is_a_file_and_a_key(text, file, key):
    assert ValueRule.parse(text) == ValueRule(file, key)


def test_a_colon_without_a_key_is_refused():
    with pytest.raises(ValueError, match="needs a key after the colon"):
        ValueRule.parse("m.json:")


def test_programs_side_by_side_do_not_share_a_file():
    with pytest.raises(ValueError, match=r"put \{trial\} into the name"):
        ValueRule("m.json").check_jobs(2)
    ValueRule("m.json").check_jobs(1)
    ValueRule("m-{trial}.json").check_jobs(2)
    ValueRule().check_jobs(2)


def test_the_last_line_is_the_last_that_is_not_empty():
    assert last_line("1\n 2 \n\n \t\n") == " 2 "
    assert last_line("10%\r100%\r\n0.5") == "0.5"
    assert last_line("") == ""
    assert (
        last_line('x\n{"value": 0.5, "note": "a\u2028b"}') == '{"value": 0.5, "note": "a\u2028b"}'
    )
