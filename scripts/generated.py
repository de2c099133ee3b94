"""Files of the documentation that are made from the source: written, or held to it. Scripts beside this one use it."""

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def between(page: Path, script: str, text: str) -> str:
    """The page with `text` between `<!-- begin: script -->` and `<!-- end -->`. Raises `ValueError` without them."""
    begin, end = f"<!-- begin: scripts/{Path(script).name} -->\n", "<!-- end -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page.name} has no part between {begin.strip()} and {end}")
    return f"{before}{begin}\n{text}\n{closed}{after}"


def main(files: Mapping[Path, str]) -> int:
    """Names the files that do not hold what they should; with `--write` writes them. Gives the exit status."""
    write = "--write" in sys.argv[1:]
    stale = [file for file, text in files.items() if not file.exists() or file.read_text(encoding="utf-8") != text]
    for file in stale:
        if write:
            file.write_text(files[file], encoding="utf-8")
        print(f"{file.relative_to(ROOT)}: {'written' if write else 'not what the source gives; run this with --write'}")
    return 1 if stale and not write else 0
