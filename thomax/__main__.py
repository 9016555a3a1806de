"""Run `python -m thomax`."""

import sys

from thomax.cli import main

if __name__ == "__main__":
    sys.exit(main())
