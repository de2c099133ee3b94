"""What reads and writes the wire does no I/O: the syntax trees of those modules, walked.

The import contracts in pyproject.toml say the same of imports; this holds without import-linter, and also sees what is
no import: `await`, the environment, files.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import llmcore

PACKAGE = Path(llmcore.__path__[0])
PURE = ["protocols", "wire", "framing", "schema"]
PURE_FILES = [
    "events.py",
    "fields.py",
    "lifecycle.py",
    "fold.py",
    "protocol.py",
    "history.py",
    "sendable.py",
    "capabilities.py",
    "media.py",
    "errors.py",
]
FILES_ALLOWED = {"schema/parts.py"}
"""`Media.from_path` reads a file that the user names, before there is a request."""

FORBIDDEN_MODULES = {
    "aiohttp", "anyio", "asyncio", "concurrent", "contextvars", "httpcore", "httpx", "multiprocessing",
    "queue", "random", "secrets", "select", "selectors", "signal", "socket", "ssl", "subprocess", "tempfile",
    "threading", "time", "trio", "urllib.request", "uuid",
}  # fmt: skip
FORBIDDEN_CALLS = {"open", "input", "print", "exec", "eval", "breakpoint", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    "environ", "environb", "getenv", "urandom", "read_bytes", "read_text", "write_bytes", "write_text",
    "now", "utcnow", "today",
}  # fmt: skip


def pure_files() -> list[Path]:
    inside = [file for folder in PURE for file in (PACKAGE / folder).rglob("*.py")]
    return sorted(inside + [PACKAGE / name for name in PURE_FILES])


def offences(tree: ast.AST) -> Iterator[str]:
    """Each thing in the tree that waits, or reaches out, with its line."""
    for node in ast.walk(tree):
        where = f"line {getattr(node, 'lineno', 0)}"
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield f"{where}: {type(node).__name__}"
            case ast.comprehension(is_async=1):
                yield f"{where}: an async comprehension"
            case ast.Import(names=names):
                yield from (f"{where}: import {n.name}" for n in names if forbidden(n.name))
            case ast.ImportFrom(module=str(module), names=names):
                full = [f"{module}.{n.name}" for n in names]
                yield from (f"{where}: import {name}" for name in full if forbidden(name))
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
                yield f"{where}: {name}()"
            case ast.Attribute(attr=name) if name in FORBIDDEN_ATTRIBUTES:
                yield f"{where}: .{name}"
            case _:
                continue


def forbidden(module: str) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:length]) in FORBIDDEN_MODULES for length in range(1, len(parts) + 1))


@pytest.mark.parametrize("file", pure_files(), ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_no_io(file: Path) -> None:
    found = list(offences(ast.parse(file.read_text(encoding="utf-8"))))
    if file.relative_to(PACKAGE).as_posix() in FILES_ALLOWED:
        found = [offence for offence in found if not offence.endswith((".read_bytes", ".read_text"))]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "async def f(): pass",
        "async def f():\n    return [x async for x in y]",
        "import socket",
        "import urllib.request",
        "from urllib import request",
        "from time import monotonic",
        "import os\nos.environ['X']",
        "open('x')",
        "path.read_bytes()",
        "import datetime\ndatetime.datetime.now()",
    ],
)
def test_the_walk_sees(code: str) -> None:
    assert list(offences(ast.parse(code))) != []


def test_the_walk_lets_pass() -> None:
    code = "import os\nfrom urllib.parse import quote\nimport timeit_like\ndef f(p: os.PathLike): return quote(str(p))"
    assert list(offences(ast.parse(code))) == []


def test_only_the_transport_imports_an_http_client() -> None:
    clients = {"httpx", "httpx2", "httpcore", "httpx_aiohttp", "aiohttp"}
    found = set[str]()
    folders = [PACKAGE, PACKAGE / "protocols", PACKAGE / "providers", PACKAGE / "tools"]  # rglob follows no links
    for file in {file for folder in folders for file in folder.rglob("*.py")}:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [n.name for n in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names.append(node.module)
            if {name.partition(".")[0] for name in names} & clients:
                found.add(file.relative_to(PACKAGE).as_posix())
    assert found == {"transport/http.py", "transport/network.py"}
