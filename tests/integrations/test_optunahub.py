"""The folder under contrib/ is what OptunaHub's registry accepts and loads."""

import re
from pathlib import Path

import pytest

REGISTRY = Path(__file__).parents[2] / "contrib" / "optunahub" / "package"
PACKAGE = REGISTRY / "samplers" / "thomax"
README = (PACKAGE / "README.md").read_text("utf-8")


def front_matter():
    """Read the lines between the two rules: flat `key: value`, lists in brackets."""
    text = re.match(r"---\n(.*?)\n---\n", README, re.DOTALL).group(1)
    pairs = dict(line.split(": ", 1) for line in text.splitlines())
    return {k: v.strip("[]").split(", ") if v.startswith("[") else v for k, v in pairs.items()}


def test_the_front_matter_has_the_six_keys():
    found = front_matter()
    keys = ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert [*found] == keys
    assert all(found.values())
    assert "sampler" in found["tags"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in found["optuna_versions"])
    assert found["license"] == "MIT License"
    assert found["description"].count(".") == 1  # one sentence
    assert "Sampler" not in found["title"]  # human words, not the class


def test_the_sections_are_the_wanted_ones_without_html():
    sections = re.findall(r"^## (.*)$", README, re.MULTILINE)
    assert sections == ["Abstract", "APIs", "Installation", "Example", "Others"]
    assert not re.search(r"<[a-z/]", README)


def test_the_signature_in_the_readme_is_the_signature():
    pytest.importorskip("optuna")
    import inspect

    from thomax.integrations.optuna import ThomaxSampler

    shown = re.search(r"`ThomaxSampler\(\*, (.*)\)`", README).group(1)
    parameters = list(inspect.signature(ThomaxSampler).parameters.values())
    assert [p.name for p in parameters] == re.findall(r"(\w+)=", shown)
    assert [repr(p.default).replace("'", '"') for p in parameters] == re.findall(
        r"=([^,]+)", shown
    )


def test_the_licence_is_the_projects():
    assert (PACKAGE / "LICENSE").read_text() == (REGISTRY.parents[2] / "LICENSE").read_text()
    assert (PACKAGE / "LICENSE").read_text().startswith("MIT License")


def test_the_folder_holds_text_only():
    names = {p.name for p in PACKAGE.iterdir() if p.name != "__pycache__"}
    assert names == {"__init__.py", "README.md", "LICENSE", "example.py", "requirements.txt"}


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_hub_loads_it_and_its_example_runs(monkeypatch, capsys):
    optunahub = pytest.importorskip("optunahub")
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    module = optunahub.load_local_module("samplers/thomax", registry_root=str(REGISTRY))
    assert module.__all__ == ["ThomaxSampler"]
    # The example would fetch the package from the network.
    monkeypatch.setattr(optunahub, "load_module", lambda name: module)
    block = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    for script in ((PACKAGE / "example.py").read_text("utf-8"), block):
        assert "n_trials=30" in script
        exec(script.replace("n_trials=30", "n_trials=12"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert "'rate'" in printed
    assert "'y'" in printed
