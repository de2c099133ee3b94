"""Prints the tables of docs/performance.md from one run: `python bench/ratios.py results.json`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLOOR = "floor_httpx_msgspec"
PEERS = ("llmcore", "llmcore_aiohttp", FLOOR, "floor_aiohttp_msgspec", "openai", "litellm")
ROWS = (
    ("stream, one event a read, µs a chunk", "text_k1:chat", "us_per_chunk"),
    ("stream, sixteen events a read, µs a chunk", "text_k16:chat", "us_per_chunk"),
    ("stream, a chunk every millisecond, µs a chunk", "paced:chat", "us_per_chunk"),
    ("whole answer, µs a request", "nonstream:chat", "us_per_request"),
    ("200 messages and ten tools, µs more a request", "hist:chat", "us_hist_minus_plain"),
    ("tool arguments in 500 pieces, µs a piece", "tools500:chat", "us_per_chunk"),
    ("tool arguments in 8,000 pieces, µs a piece", "tools8000:chat", "us_per_chunk"),
    ("200 streams at once, µs a chunk", "conc:chat", "us_per_chunk"),
    ("one stream of 10,000 chunks, MB kept", "mem:chat", "rss_kept_kb"),
)
# What docs/performance.md promises: words, peer, scenario, field, the most times the floor's.
GOALS = (
    ("a streamed chunk, one event a read", "llmcore", "text_k1:chat", "us_per_chunk", 1.3),
    ("a streamed chunk, sixteen events a read", "llmcore", "text_k16:chat", "us_per_chunk", 1.8),
    ('`http="aiohttp"`: a chunk', "llmcore_aiohttp", "text_k1:chat", "us_per_chunk", 0.5),
    ('`http="aiohttp"`: a request', "llmcore_aiohttp", "nonstream:chat", "us_per_request", 0.6),
)


def cells(values: list[str]) -> str:
    return f"| {' | '.join(values)} |"


def tables(found: Callable[[str, str, str], float | None]) -> list[str]:
    """The lines of the three tables; `found(peer, scenario, field)` is a median of the run."""
    present = [peer for peer in PEERS if found(peer, "text_k1:chat", "us_per_chunk") is not None]
    lines = [cells(["", *(f"`{peer}`" for peer in present)]), cells(["---", *["---:" for _ in present]])]
    for words, scenario, field in ROWS:
        floor, row = found(FLOOR, scenario, field), list[str]()
        for peer in present:
            value = found(peer, scenario, field)
            if value is None:
                row.append("fails")
            elif field.endswith("_kb"):
                row.append(f"{value / 1024:.1f}")
            else:
                row.append(f"{value:.{1 if value < 100 else 0}f} ({value / floor:.2f})" if floor else f"{value:.1f}")
        lines.append(cells([words, *row]))
    lines += ["", "| import | import, ms | ready to call, ms |", "|---|---:|---:|"]
    for peer in ("llmcore", "floor", "openai", "litellm"):
        imported, ready = (found(peer, "import:-", field) for field in ("import_ms", "ready_ms"))
        if imported is not None and ready is not None:
            lines.append(cells([f"`{peer}`", f"{imported:.0f}", f"{ready:.0f}"]))
    lines += ["", "| goal | at most | reached |", "|---|---:|---:|"]
    for words, peer, scenario, field, most in GOALS:
        value, floor = found(peer, scenario, field), found(FLOOR, scenario, field)
        lines.append(cells([words, f"{most} ×", f"{value / floor:.2f} ×" if value and floor else "not measured"]))
    return lines


def main() -> None:
    """Reads the file that the first argument names."""
    medians: dict[str, dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["medians"]
    print("\n".join(tables(lambda peer, scenario, field: medians.get(f"{peer}/{scenario}", {}).get(field))))


if __name__ == "__main__":
    main()
