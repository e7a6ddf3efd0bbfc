"""`python -m bktf`: the command line, where the program `bktf` is not on the path."""

import sys

from bktf.cli import main

if __name__ == "__main__":
    sys.exit(main())
