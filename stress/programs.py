"""Programs that say more than a number, and tables that say more than values.

What a program prints may come late, through a filter, or command the terminal; a name may command
the spreadsheet that opens a table.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

from stress.part import Part
from thomax.cli.sheets import read_sheet
from thomax.storage.journal import Journal
from thomax.storage.records import Record

ROOT = Path(__file__).parents[1]
_SPACE = "trials = 1\ninitial = 9\n[parameters]\n"
_SLOW = """
import subprocess, sys
print(0.9, flush=True)
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep({}); print(0.000987)"])
"""
_RUDE = "import sys; sys.exit('\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\u202e')"
_FORMULAS = ["=cmd|' /C calc'!A0", "+1+cmd()", "-2+cmd()", "@SUM(A1)", "\t=1", "'=1", "plain"]


def run_a_slow_program(part: Part, folder: Path) -> None:
    """Run a program whose last line comes late, from a process that it leaves behind."""
    _run(folder, "slow", _SLOW.format(2))
    value = _end(folder / "slow.jsonl")["value"]
    part.check(value == 0.000987, f"of a slow filter's output {value} was recorded, not the end")


def run_a_program_without_end(part: Part, folder: Path) -> None:
    """Run a program that leaves a process behind which keeps its output open."""
    _run(folder, "late", _SLOW.format(60), "--timeout", "3")
    error = str(_end(folder / "late.jsonl")["error"])
    part.check("still held it open" in error, f"a filter that never ends gave {error[:200]!r}")


def run_a_rude_program(part: Part, folder: Path) -> None:
    """Run a program that ends with commands for the terminal."""
    done = _run(folder, "rude", _RUDE)
    rude = [c for c in done.stdout + done.stderr if c != "\n" and not c.isprintable()]
    part.check(not rude, f"a program's error sent {rude} to the terminal")


def write_a_table_of_formulas(part: Part, folder: Path) -> None:
    """Suggest choices that a spreadsheet would take for formulas, as a table."""
    choices = json.dumps(_FORMULAS)
    text = f'"=x()" = {{type = "categorical", choices = {choices}}}'
    (folder / "table.toml").write_text(_SPACE + text)
    table = folder / "table.csv"
    done = _thomax(
        folder, "suggest", "t.jsonl", "--space", "table.toml", "-n", "9", "--csv", table
    )
    part.check(done.returncode == 0, f"a table of formulas: {done.stderr[-300:]}")
    with table.open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    formulas = [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    part.check(not formulas, f"a spreadsheet would run {formulas}")
    back = {row["=x()"] for _, row in read_sheet(table).rows}
    part.check(back == {*_FORMULAS}, f"a table of formulas came back as {back}")


def _run(folder: Path, name: str, source: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    space = 'x = {type = "float", low = 0, high = 1}'
    (folder / f"{name}.toml").write_text(_SPACE + space)
    program = [sys.executable, "-S", "-c", source]
    return _thomax(folder, "run", f"{name}.toml", *flags, "--", *program)


def _end(journal: Path) -> Record:
    """Return what a journal holds of the end of its last trial."""
    return Journal.read(journal).records[-1]


def _thomax(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "thomax", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        encoding="utf-8", errors="replace",
    )  # fmt: skip
