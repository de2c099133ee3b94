"""`python -m llmcore`: the command line."""

import sys

from llmcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
