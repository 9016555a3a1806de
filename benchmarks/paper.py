"""Run the paper's experiments, draw its figures and judge its claims.

Results are added to `benchmarks/results/paper`, and `docs/reproduction.md` is written from them;
what is there already is not run again. With --quick, one seed and four methods of the rover's task
in `build`.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from thomax.bench.claims import findings
from thomax.bench.command import main as bench
from thomax.bench.runner import results

RESULTS = Path(__file__).parent / "results" / "paper"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, one iteration, one task")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    folder = Path("build/bench-paper") if options.quick else RESULTS
    if options.quick:
        code = bench(["run", "3c", "--quick", "--folder", str(folder)])
    else:
        code = bench(["run", "all", "--folder", str(folder), "--workers", str(options.workers)])
        code = code or bench(["document", "--folder", str(folder)])
    if code:
        sys.exit(code)
    known = results(folder)
    verdicts = Counter(finding.verdict for finding in findings(known))
    print(json.dumps({"runs": len(known), "verdicts": verdicts, "quick": options.quick}))


if __name__ == "__main__":
    main()
