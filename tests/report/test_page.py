"""The page: whole, offline, safe with hostile names, and readable when there is nothing to say."""

import base64
import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from reading import SMALL, page_of, tell_all

from thomax import Categorical, Float, Int, Optimizer, Pool, Random
from thomax.report.page import render
from thomax.report.text import label, script_json

SECTIONS = [
    "best",
    "convergence",
    "parallel",
    "slices",
    "importance",
    "pending",
    "failures",
    "trials",
    "draws",
]


def sections_of(page):
    return [i for i in page.ids if "figure" not in i]


@pytest.fixture(scope="module")
def mixed_page(mixed, tmp_path_factory):
    return page_of(mixed, tmp_path_factory.mktemp("page"))


def test_a_page_has_all_sections_in_order(mixed, mixed_page):
    page = mixed_page
    assert sections_of(page) == SECTIONS
    assert {*page.figures} == {i for i in page.ids if i.startswith("figure-")}
    for words in (
        "mixed.jsonl", "minimise", "15 trials 12 complete 1 failed",
        "still running: 2 pending", f"{mixed.best.value:.6g}",
        "ValueError: no luck on this machine", "Draws of this policy are not trained",
    ):  # fmt: skip
        assert words in page.text
    assert " ".join(json.dumps(mixed.best.params, indent=2).split()) in page.text


def test_a_page_loads_nothing_and_runs_only_its_own_scripts(mixed_page):
    page = mixed_page
    policy = page.meta("Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert len(page.scripts) == 2
    for script in page.scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not [v for name, v in page.attributes if name in ("src", "srcset", "onclick", "onload")]
    links = [v for name, v in page.attributes if name == "href"]
    assert all(link.startswith("#") for link in links)
    assert len(page.source.encode()) < 8e6


def test_a_journal_says_that_the_model_is_a_guess(mixed_page, tmp_path):
    path = tmp_path / "run.jsonl"
    with Optimizer({"x": Float(0, 1)}, SMALL, seed=0, journal=path) as optimizer:
        tell_all(optimizer, 1, lambda p: p["x"])
    assert "A journal does not say which policy" in page_of(path, tmp_path).text
    assert "A journal does not say which policy" not in mixed_page.text


SCRIPT = "<script>alert(1)</script>"
HOSTILE = {
    f"</script>{SCRIPT}": Float(0, 1),
    "\"'><img src=x onerror=alert(1)>&amp;": Categorical([f"</td>{SCRIPT}", "%{x}", "\ud800"]),
    "javascript:alert(1)": Int(1, 9),
    "${x}": Float(0, 1),
    "<b>": Float(0, 1),  # seven columns, as in the mixed search: nothing compiles anew
}


def test_names_values_and_errors_are_never_markup(tmp_path):
    optimizer = Optimizer(HOSTILE, SMALL, seed=0, initial=9)
    tell_all(optimizer, 5, lambda p: p[f"</script>{SCRIPT}"])
    failing = optimizer.ask()
    optimizer.tell(failing, error=f"{SCRIPT}</table><!-- {'é' * 300}")
    page = page_of(optimizer, tmp_path)
    assert sections_of(page) == [name for name in SECTIONS if name != "pending"]
    assert page.tags.count("script") == 3
    assert "img" not in page.tags
    assert f"</script>{SCRIPT}" in page.text
    assert f"{SCRIPT}</table><!-- ééé" in page.text
    assert "\"'><img src=x onerror=alert(1)>&amp;" in page.text
    titles = [
        f["layout"]["xaxis"]["title"]["text"] for n, f in page.figures.items() if "slice" in n
    ]
    assert label(f"</script>{SCRIPT}") in titles
    assert not any("<" in title for title in titles)
    for figure in page.figures.values():  # plotly understands <b> and <br>: ours alone
        texts = json.dumps(figure).replace("<b>trial", "").replace("</b>", "").replace("<br>", "")
        assert "<" not in texts


def test_json_inside_a_script_cannot_end_it():
    written = script_json({"</script>": "<!-- & -->"})
    assert not {*"<>&"} & {*written}
    assert json.loads(written) == {"</script>": "<!-- & -->"}


def test_an_empty_search_says_so(tmp_path):
    path = tmp_path / "run.jsonl"
    Optimizer({"x": Float(0, 1)}, SMALL, seed=0, journal=path).close()
    page = page_of(path, tmp_path)
    assert "0 trials" in page.text
    assert "No trial has a value yet." in page.text
    assert page.figures == {}


def test_one_value_is_shown_without_a_model(tmp_path):
    optimizer = Optimizer({"x": Float(0, 1)}, SMALL, seed=0)
    tell_all(optimizer, 1, lambda p: 2.5)
    page = page_of(optimizer, tmp_path)
    assert "The model has a say from 3 values on." in page.text
    assert {*page.figures} == {"figure-convergence", "figure-parallel"}


def test_a_search_that_only_failed_lists_its_failures(tmp_path):
    optimizer = Optimizer({"x": Float(0, 1)}, SMALL, seed=0)
    for i in range(60):
        optimizer.tell({"x": i / 60}, error="out of memory")
    page = page_of(optimizer, tmp_path)
    assert "60 out of memory" in page.text  # count and reason
    assert "… and 10 earlier." in page.text
    assert {*page.figures} == {"figure-convergence"}


def test_long_lists_are_folded(tmp_path):
    """Row 22: failures and parameters took screens before anything else was to be seen."""
    space = {f"p{i}": Float(0, 1) for i in range(20)}
    optimizer = Optimizer(space, Random(), seed=0)
    for i in range(9):
        optimizer.tell(dict.fromkeys(space, 0.5), error=f"reason {chr(97 + i)}")
    optimizer.tell(dict.fromkeys(space, 0.5), 1.0)
    optimizer.ask(9)
    page = page_of(optimizer, tmp_path)
    for words in ("8 more parameters", "4 more reasons", "4 more failures", "4 more pending"):
        assert words in page.text
    assert "p0=0.5, p1=0.5, p2=0.5, … 20 in all" in page.text
    assert page.tags.count("details") == 4 + 9 + 9  # the lists, and the params in two of them


def test_short_lists_are_not_folded(mixed_page):
    assert "details" not in mixed_page.tags


def test_the_settings_of_draws_are_stacked_where_there_is_little_room(mixed_page):
    """Row 22: their table was wider than a phone, and its second column out of sight."""
    draws = mixed_page.source.split('id="draws"')[1].split("</section>")[0]
    assert '<div class="scroll stacked"><table>' in draws
    narrow = mixed_page.source.split("@media (max-width:")[1].split("</style>")[0]
    assert ".scroll.stacked td.wide { display: block;" in narrow


def test_pending_trials_are_listed(mixed, mixed_page):
    """Row 22: only their number was shown."""
    listed = mixed_page.text.split("asked for and not yet told.")[1].split("Failures")[0]
    for trial in mixed.pending:
        assert f"{trial.number} rate=" in listed


def test_nothing_is_said_of_pending_trials_where_there_are_none(tmp_path):
    optimizer = Optimizer({"x": Float(0, 1)}, Random(), seed=0)
    tell_all(optimizer, 1, lambda p: 2.5)
    assert "pending" not in page_of(optimizer, tmp_path).ids


def test_a_space_of_choices_only_works(tmp_path):
    space = {"a": Categorical(["x", "y"]), "b": Categorical([1, True, None])}
    optimizer = Optimizer(space, SMALL, seed=0, initial=9)
    tell_all(optimizer, 4, lambda p: float(p["a"] == "x"))
    page = page_of(optimizer, tmp_path)
    assert {"figure-slice-0", "figure-slice-1", "figure-pair-0"} <= {*page.figures}


def test_equal_values_everywhere_do_no_harm(tmp_path):
    optimizer = Optimizer({"x": Float(0, 1)}, SMALL, seed=0, initial=9)
    tell_all(optimizer, 5, lambda p: 1.0)
    assert "figure-slice-0" in page_of(optimizer, tmp_path).figures


def test_a_pool_of_images_is_a_gallery(tmp_path):
    images = np.random.default_rng(0).integers(0, 9, (12, 6, 6, 3), dtype=np.uint8)
    optimizer = Optimizer(Pool(images), SMALL, seed=0, initial=9)
    tell_all(optimizer, 5, lambda p: p["index"])
    page = page_of(optimizer, tmp_path)
    assert page.tags.count("img") == 5
    assert "figure-candidates" in page.figures
    assert "slices" not in page.ids


def test_a_table_has_its_columns_as_parameters_even_from_the_journal(tmp_path):
    table = pd.DataFrame({"mass": np.linspace(1, 2, 8), "kind": ["a", "b"] * 4})
    path = tmp_path / "run.jsonl"
    with Optimizer(Pool(table), SMALL, seed=0, initial=9, journal=path) as optimizer:
        tell_all(optimizer, 5, lambda p: p["mass"])
        live = page_of(optimizer, tmp_path)
    stored = page_of(path, tmp_path)
    for page in (live, stored):
        texts = [a["text"] for a in page.figures["figure-parallel"]["layout"]["annotations"]]
        assert {"mass", "kind", "a", "b"} <= {*texts}
    assert "figure-candidates" in live.figures
    assert "figure-candidates" not in stored.figures
    assert "A journal holds a checksum of its pool" in stored.text


@pytest.mark.parametrize(("refresh", "expected"), [(None, False), (30, True)])
def test_a_page_reloads_itself_only_if_asked(mixed_content, refresh, expected):
    source = render(mixed_content, "", refresh)
    assert ('<meta http-equiv="refresh" content="30">' in source) == expected


def test_corrections_are_listed_and_marked_and_retracted_trials_only_counted(tmp_path):
    search = Optimizer({"x": Float(0, 1)}, Random(), seed=0)
    for n in range(4):
        search.tell({"x": n / 4}, n, note="stirrer <i>slow</i>" if n == 3 else None)
    search.correct(2, 7.5, why="wrong <b>dilution</b>")
    search.retract(1, why="leak")
    page = page_of(search, tmp_path)
    assert "4 trials 3 complete 1 retracted" in page.text
    assert "corrections" in sections_of(page)
    for words in ("2 2 7.5 wrong <b>dilution</b>", "1 1 retracted leak", "stirrer <i>slow</i>"):
        assert words in page.text
    best = page.text[page.text.index("best observed trials") :]
    assert "2 (corrected) 7.5" in best
    assert page.text.index("leak") < page.text.index("dilution")  # the latest change first
    steps = next(t for t in page.figures["figure-convergence"]["data"] if t["name"] == "observed")
    assert steps["x"] == [0, 2, 3]
