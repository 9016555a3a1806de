"""`python -m stress [PART ...] [--short]`: run the stress tests and write what was found."""

import argparse
import json
import sys
from pathlib import Path

from stress import PARTS
from stress.part import run

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "stress.json"


def main() -> int:
    """Run the parts, print a line for each and a JSON summary last."""
    parser = argparse.ArgumentParser(prog="stress", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--short", action="store_true", help="few rounds; results are not written")
    options = parser.parse_args()
    unknown = set(options.parts) - {*PARTS}
    if unknown:
        wrong = ", ".join(sorted(unknown))
        parser.error(f"Parts must be some of {', '.join(PARTS)}, got {wrong}.")
    found = {}
    for name in options.parts or PARTS:
        part = run(name, options.short)
        found[name] = part.summary()
        print(f"{name}: {part.passed} held, {part.failed} did not, {part.figures}", flush=True)
        for sentence in part.failures:
            print(f"  {sentence}")
    summary = {
        "passed": sum(part["passed"] for part in found.values()),
        "failed": sum(part["failed"] for part in found.values()),
    }
    if not options.short and not options.parts:
        RESULTS.write_text(json.dumps({**summary, "parts": found}, indent=1) + "\n")
    print(json.dumps(summary))
    return 1 if summary["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
