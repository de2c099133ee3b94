"""Measures llmcore beside its peers, in one interleaved run, and prints the table of ratios.

    BENCH_PEERS=…/peers PEER_VENVS=…/venvs python bench/run.py [--rounds 5] [--only REGEX] […all of run_all's options]

`BENCH_PEERS` is the folder of the peers' drivers (`run_all.py`); `PEER_VENVS` that of their virtual environments, one
for each peer, among them `llmcore` (`pip install "llmcore[aiohttp]"`). Only ratios within one run count.
"""

import os
import sys
from pathlib import Path

DRIVER = Path(__file__).resolve().with_name("driver_llmcore.py")
READY = "import llmcore|llmcore.Client()"


def main() -> None:
    """Runs `run_all` with both of llmcore's variants among its peers. Exits with a message if a folder is missing."""
    try:
        peers, venvs = (Path(os.environ[name]).resolve(strict=True) for name in ("BENCH_PEERS", "PEER_VENVS"))
        python = (venvs / "llmcore" / "bin" / "python").absolute()
        python.stat()
    except (KeyError, OSError) as problem:
        sys.exit(f"bench/run.py: {problem}\n\n{__doc__}")
    sys.path.insert(0, str(peers))
    import run_all

    # `run_all` knows one variant of the library under test; the other is one more peer.
    run_all.PEERS["llmcore_aiohttp"] = (str(DRIVER), "aiohttp", [], ["chat"], ["chat"])
    run_all.VENV["llmcore_aiohttp"] = "llmcore"
    # Environments that only add what another benchmark of a peer needs may be missing: its plain one will do.
    run_all.VENV.update(
        {p: p for p, v in run_all.VENV.items() if v and not (venvs / v).is_dir() and (venvs / p).is_dir()}
    )
    sys.argv[1:1] = ["--venvs", str(venvs), "--llmcore", str(DRIVER), "--llmcore-python", str(python)]
    sys.argv[1:1] = ["--llmcore-protocols", "chat", "--llmcore-import", READY]
    run_all.main()


if __name__ == "__main__":
    main()
