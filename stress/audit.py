"""`python -m stress.audit`: what thomax installs on a user's machine, and whether it is sound.

The core dependencies are exactly the declared ones, the installed versions satisfy the declared
bounds, and none of what they bring along has a known vulnerability, as far as the service that
pip-audit asks can be reached.
"""

import json
import re
import subprocess
import sys
from importlib import metadata
from tempfile import NamedTemporaryFile
from typing import Any

from stress.part import Part
from stress.versions import CORE, check_declared_versions

TIMEOUT = 120  # seconds


def main() -> int:
    """Print a sentence for each finding, and return the exit code."""
    part = Part()
    check_declared_versions(part)
    pins = core_distributions()
    print(f"installed with thomax: {', '.join(f'{n} {v}' for n, v in pins.items())}")
    found = known_vulnerabilities(pins)
    if isinstance(found, str):
        print(f"skipped: service not reachable ({found})")
    else:
        part.check(not found, f"known vulnerabilities: {'; '.join(found)}")
    for sentence in part.failures:
        print(sentence)
    print(f"{part.passed} held, {part.failed} did not")
    return 1 if part.failed else 0


def core_distributions() -> dict[str, str]:
    """Return the versions of what thomax needs without any extra, and of what that needs."""
    found = {name: metadata.version(name) for name in CORE}
    waiting = [*CORE]
    while waiting:
        name = waiting.pop()
        for text in metadata.requires(name) or []:
            needed = re.split(r"[^\w.-]", text, maxsplit=1)[0]
            # What stands behind a semicolon concerns extras, or other systems and Pythons.
            if ";" not in text and needed not in found:
                found[needed] = metadata.version(needed)
                waiting.append(needed)
    return dict(sorted(found.items()))


def known_vulnerabilities(pins: dict[str, str]) -> list[str] | str:
    """Return what the service knows, or why it said nothing."""
    with NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{name}=={version}\n" for name, version in pins.items()))
        file.flush()
        options = ["--no-deps", "--disable-pip", "--format=json", "--progress-spinner=off"]
        command = [sys.executable, "-m", "pip_audit", "--requirement", file.name, *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
            answers: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
        except subprocess.TimeoutExpired:
            return f"no answer in {TIMEOUT} s"
        except (ValueError, KeyError):
            return (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1][:200]
    # A package that "was not found" is on PyPI all the same: something else has answered.
    if skipped := [a["skip_reason"] for a in answers if "skip_reason" in a]:
        return skipped[0]
    return [f"{a['name']} {a['version']}: {v['id']}" for a in answers for v in a["vulns"]]


if __name__ == "__main__":
    sys.exit(main())
