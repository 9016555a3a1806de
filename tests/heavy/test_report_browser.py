"""A real browser opens reports: no message in its console, every figure drawn, no script run."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from thomax import CNN, MLP, STOBNTS, Bool, Categorical, Float, Int, Optimizer, Pool, STOBNTSLinear
from thomax.report import write_report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="Chromium is not installed: apt-get install chromium"
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--virtual-time-budget=8000", "--enable-logging=stderr", "--v=0",
)  # fmt: skip
OWN = "<script>console.log('owned')</script>"
HOSTILE = f"</script>{OWN}<img src=x onerror=console.log('owned')>"
NARROWEST = 500  # Chromium's windows are no narrower


def browse(url, folder, *options):
    """Open a page in a new browser; return what it prints and its console's messages."""
    profile = folder / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", *options, url]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    return run.stdout, [line for line in run.stderr.splitlines() if ":CONSOLE" in line]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {name: write_report(make(), folder / f"{name}.html") for name, make in SEARCHES.items()}


def mixed_search():
    space = {
        "rate": Float(1e-4, 1, log=True), HOSTILE: Categorical([OWN, "<b>b</b>", "%{x}"]),
        "depth": Int(1, 6), "on": Bool(), "patience": Int(1, 50, log=True, when={"on": True}),
    }  # fmt: skip
    policy = STOBNTSLinear(MLP(width=64, activation="erf"))
    optimizer = Optimizer(space, policy, seed=0, direction="minimize")
    for trial in optimizer.ask(30):
        if trial.params["depth"] == 6:
            optimizer.tell(trial, error=f"MemoryError: {HOSTILE}")
        else:
            optimizer.tell(trial, 1e3 * trial.params["rate"] + trial.params["depth"])
    optimizer.ask(2)
    return optimizer


def image_search():
    images = np.random.default_rng(0).integers(0, 256, (40, 12, 12), dtype=np.uint8)
    optimizer = Optimizer(Pool(images), STOBNTS(CNN(width=8)), seed=0)
    for trial in optimizer.ask(8):
        optimizer.tell(trial, float(images[trial.params["index"]].mean()))
    return optimizer


SEARCHES = {
    "mixed": mixed_search,
    "images": image_search,
    "empty": lambda: Optimizer({"x": Float(0, 1)}, seed=0),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_figure_is_drawn_and_the_console_is_silent(reports, name, tmp_path):
    source = reports[name].read_text("utf-8")
    dom, messages = browse(
        reports[name].as_uri(), tmp_path, "--window-size=1280,9000", "--dump-dom"
    )
    assert messages == []
    assert dom.count('<div class="figure js-plotly-plot"') == source.count('<div class="figure"')


def test_figures_fit_a_narrow_window(reports, tmp_path):
    window = f"--window-size={NARROWEST},20000"
    dom, messages = browse(reports["mixed"].as_uri(), tmp_path, window, "--dump-dom")
    assert messages == []
    widths = [float(w) for w in re.findall(r'class="main-svg"[^>]*? width="([\d.]+)"', dom)]
    assert widths
    assert max(widths) <= NARROWEST - 30


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_screenshot_is_a_page(reports, name, width, tmp_path):
    # A frame is how a page gets to see a phone's width.
    frame = tmp_path / "frame.html"
    frame.write_text(
        "<style>body{margin:0}iframe{border:0;display:block}</style>"
        f'<iframe src="{reports[name].as_uri()}" width={width} height=3000></iframe>'
    )
    picture = tmp_path / "shot.png"
    options = (f"--window-size={width},3000", f"--screenshot={picture}")
    _, messages = browse(frame.as_uri(), tmp_path, *options)
    assert messages == []
    with Image.open(picture) as image:
        assert image.size == (width, 3000)
        colours = len(image.convert("RGB").getcolors(2**24))
    assert colours > (20 if name == "empty" else 300)
