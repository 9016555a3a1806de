"""Space files say what they mean, and their mistakes are named in one sentence."""

from pathlib import Path

import pytest

from thomax import Bool, Categorical, Float, Int, Ordinal, Space
from thomax.cli.settings import RULES
from thomax.cli.spacefile import read_space_file

ROOT = Path(__file__).parents[2]


def written(folder, text):
    path = folder / "space.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_gives_the_space_and_the_settings_that_stand_in_it(folder):
    text = """
    direction = "minimize"
    time_limit = 60
    [parameters]
    lr = {type = "float", low = 1e-5, high = 1e-1, log = true}
    layers = {type = "int", low = 1, high = 9, step = 2}
    act = {type = "categorical", choices = ["relu", "tanh", 3]}
    size = {type = "ordinal", values = ["small", "large"]}
    bias = {type = "bool", when = {act = ["relu", "tanh"], size = "large"}}
    """
    file = read_space_file(written(folder, text))
    assert file.settings == {"direction": "minimize", "time_limit": 60}
    assert file.space == Space(
        {
            "lr": Float(1e-5, 1e-1, log=True),
            "layers": Int(1, 9, step=2),
            "act": Categorical(["relu", "tanh", 3]),
            "size": Ordinal(["small", "large"]),
            "bias": Bool(when={"act": ["relu", "tanh"], "size": "large"}),
        }
    )


def test_a_byte_order_mark_and_unicode_names_are_read(folder):
    path = written(folder, '\ufeff[parameters]\n"größe" = {type = "bool"}')
    assert [*read_space_file(path).space.parameters] == ["größe"]


X = "[parameters]\nx = "


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"needs a table \[parameters\]"),
        ("parameters = 3", r"needs a table \[parameters\]"),
        ("[parameters]", r"needs a table \[parameters\]"),
        ("x = = 3", "needs to be TOML: .*line 1"),
        (b"\xff\xfe", "needs to be TOML"),
        ("trails = 3\n" + X + "{type='bool'}", "'trails' is unknown: did you mean 'trials'"),
        ("zzzzzz = 3\n" + X + "{type='bool'}", "'zzzzzz' is unknown: known are direction, "),
        ("trials = 0\n" + X + "{type='bool'}", "trials needs a whole number >= 1, got 0"),
        ("trials = true\n" + X + "{type='bool'}", "trials needs a whole number >= 1, got True"),
        ("direction = 'up'\n" + X + "{type='bool'}", "direction needs .* got 'up'"),
        ("direction = ['minimize']\n" + X + "{type='bool'}", "direction needs"),
        ("timeout = inf\n" + X + "{type='bool'}", "timeout needs seconds > 0, got inf"),
        ("journal = ''\n" + X + "{type='bool'}", "journal needs the path of a file"),
        ("as = 'argv'\n" + X + "{type='bool'}", 'as needs "flags" or "env", got \'argv\''),
        (X + "3", "'x' needs a table with a type"),
        ("[parameters]\na.b = {type='bool'}", "'a' needs a table with a type.*dot needs quotes"),
        ("[parameters]\n'' = {type='bool'}", "needs a name"),
        (X + "{type='flaot', low=0, high=1}", "unknown type 'flaot': did you mean 'float'"),
        (X + "{type=['float']}", "unknown type"),
        (X + "{type='float', lo=0, high=1}", "unknown key 'lo': did you mean 'low'"),
        (X + "{type='bool', low=0}", "unknown key 'low'"),
        (X + "{type='float', low=0}", "needs the key 'high', because its type is float"),
        (X + "{type='float', low=1, high=0}", "'x': Float needs low < high"),
        (X + "{type='float', low='a', high=0}", "'x': Float needs a finite number for low"),
        (X + "{type='float', low=1, high=2, log='yes'}", "log needs true or false, got 'yes'"),
        (X + "{type='categorical', choices='ab'}", "'x': Categorical needs a list"),
        (X + "{type='categorical', choices={a=1}}", "'x': choices needs a list, got a table"),
        (X + "{type='ordinal', values=[2020-01-01]}", "'x': Ordinal needs str"),
        (X + "{type='bool', when=3}", "'x': when needs a mapping"),
        (X + "{type='bool', when={y=1}}", "condition of 'x' needs a parameter of the space"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_file_and_the_key(folder, text, sentence):
    path = written(folder, text)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_space_file(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_one_sentence(folder, name):
    with pytest.raises(ValueError, match="needs to be a readable file"):
        read_space_file(folder / name)


def test_the_page_lists_every_setting_and_shows_the_file_of_the_example():
    page = (ROOT / "docs" / "how-to" / "command-line.md").read_text("utf-8")
    assert all(f"| `{name}` |" in page for name in RULES)
    assert (ROOT / "examples" / "command_line" / "space.toml").read_text("utf-8") in page
