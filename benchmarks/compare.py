"""Compare thomax with Optuna's, BoTorch's and SMAC's optimisers on the same tasks and starts.

Results are added to `benchmarks/results/compare`, and `docs/benchmarks.md` is written from them;
what is there already is not run again. With --quick, four tasks and two seeds in `build`.
"""

import argparse
import sys

from thomax.bench.command import main as bench


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="four tasks, two seeds, five methods")
    parser.add_argument("--ablation", action="store_true", help="variants of ours instead")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    command = ["compare", "--workers", str(options.workers)]
    command += ["--ablation"] if options.ablation else ["--suite", "all"]
    if options.quick:
        command += ["--quick", "--document", "build/compare-quick.md"]
    else:
        command += ["--document", "docs/benchmarks.md"]
    sys.exit(bench(command))


if __name__ == "__main__":
    main()
