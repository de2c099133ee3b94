"""Servers and ways of calling, from tests/support."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from loopback import (
    authority,
    authority_file,
    no_proxies,
    scheme,
    serve,
    server_tls,
    trusted,
    way,
)

__all__ = ["authority", "authority_file", "no_proxies", "scheme", "serve", "server_tls", "trusted", "way"]
