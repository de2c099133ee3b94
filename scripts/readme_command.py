"""Prints the command that the README gives under a heading: `python scripts/readme_command.py Tests`.

The first fenced block under the heading is taken; it must hold exactly one line. `.ci/run` runs what this prints, so
the README and the checks cannot drift apart.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def command(heading: str, text: str) -> str:
    """The one line of the first fenced block under `## heading`. Raises `ValueError` where there is none."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    block = re.search(r"^```[a-z]*\n(.*?)^```$", section[1], re.DOTALL | re.MULTILINE) if section else None
    lines = block[1].splitlines() if block else []
    if len(lines) != 1:
        raise ValueError(f"README.md: the first block under '## {heading}' should be one line, it has {len(lines)}")
    return lines[0]


if __name__ == "__main__":
    try:
        print(command(sys.argv[1], README.read_text(encoding="utf-8")))
    except ValueError as problem:
        sys.exit(str(problem))
