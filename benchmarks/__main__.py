"""`python -m benchmarks`: run experiments, compare with rivals, judge the paper's claims."""

import sys

from benchmarks.command import main

if __name__ == "__main__":
    sys.exit(main())
