"""Run `python -m thomax`."""

import sys

from thomax.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
