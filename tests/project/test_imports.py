"""What `import llmcore` loads, and what it does: nothing but define names."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Third-party modules, and the standard library's heavy ones, that may not be loaded before they are used.
LATE = {
    "aiohttp", "anyio", "asyncio", "certifi", "email", "h11", "httpcore", "httpx", "importlib.metadata", "jsonschema",
    "msgspec", "multiprocessing", "socket", "ssl", "subprocess", "tempfile", "threading", "trio", "unittest",
    "urllib.request",
}  # fmt: skip

LOADED = """
import json, sys
before = set(sys.modules)
import llmcore
print(json.dumps(sorted(set(sys.modules) - before)))
"""
AUDITED = """
import json, sys
seen = []
def hook(event, arguments):
    if event == "open" and str(arguments[0]).endswith((".py", ".pyc", ".so")):
        return
    if event.partition(".")[0] in ("open", "socket", "subprocess", "os", "urllib", "http", "ssl", "ctypes", "shutil"):
        if event not in ("os.listdir", "os.scandir"):
            seen.append(f"{event} {arguments!r}"[:200])
sys.addaudithook(hook)
import llmcore
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def loaded(python: Callable, importable: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules that `import llmcore` adds in a fresh Python."""
    done = python("-c", LOADED, cwd=tmp_path_factory.mktemp("loaded"), env=importable)
    assert done.status == 0, done.err
    return set(json.loads(done.out))


def test_it_loads_nothing_late(loaded: set[str]) -> None:
    assert sorted(loaded & LATE) == []
    assert sorted(name for name in loaded if name.startswith(("llmcore.protocols.", "llmcore.providers."))) == []


def test_it_loads_no_client(loaded: set[str]) -> None:
    """Names are looked up when they are used (PEP 562)."""
    heavy = ("llmcore.client", "llmcore.transport", "llmcore.cassette", "llmcore.cli", "llmcore.conformance")
    assert sorted(name for name in loaded if name.startswith(heavy)) == []


def test_it_loads_no_stranger(loaded: set[str]) -> None:
    """All that is loaded is ours or the standard library's."""
    tops = {name.partition(".")[0] for name in loaded}
    assert tops - sys.stdlib_module_names == {"llmcore"}


def test_it_touches_nothing(python: Callable, importable: dict[str, str], tmp_path: Path) -> None:
    """No socket, no process, no file but modules, while it is imported."""
    done = python("-c", AUDITED, cwd=tmp_path, env=importable)
    assert done.status == 0, done.err
    assert json.loads(done.out) == []


def test_the_public_names(python: Callable, importable: dict[str, str], tmp_path: Path) -> None:
    """Every name of `llmcore.__all__` is there, is in `dir()`, and has a docstring where it can have one."""
    code = """
import llmcore
assert sorted(llmcore.__all__) == sorted(set(llmcore.__all__))
for name in llmcore.__all__:
    value = getattr(llmcore, name)
    assert name in dir(llmcore), name
    if callable(value) and hasattr(value, "__module__"):
        assert value.__doc__, name
        assert value.__module__.startswith("llmcore"), name
try:
    llmcore.no_such_name
except AttributeError as error:
    assert "no_such_name" in str(error)
else:
    raise AssertionError("an unknown name was found")
"""
    done = python("-W", "error", "-c", code, cwd=tmp_path, env=importable)
    assert done.status == 0, done.err
