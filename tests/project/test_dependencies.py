"""The dependencies: four, the extras, each with its reason in docs/dependencies.md; and nothing else is imported."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import llmcore

RUNTIME = {"httpx", "msgspec", "anyio", "jsonschema"}
BROUGHT = {"httpcore": "httpx", "certifi": "httpx", "referencing": "jsonschema"}
"""Packages that the source imports and a dependency brings: each is that dependency's own requirement."""
EXTRA = {"httpx_aiohttp", "aiohttp", "rich", "markdown_it", "hypothesis", "pytest"}
EXTRAS = {"aiohttp", "cli", "testing", "docs", "test", "oracles", "lint"}


def project(root: Path) -> dict:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names(requirements: list[str]) -> list[str]:
    return [re.split(r"[^A-Za-z0-9-]", requirement)[0] for requirement in requirements]


def test_at_run_time_there_are_four(root: Path) -> None:
    assert sorted(names(project(root)["dependencies"])) == sorted(RUNTIME)


def test_each_has_a_lower_bound(root: Path) -> None:
    declared = project(root)
    everything = [*declared["dependencies"], *(r for rs in declared["optional-dependencies"].values() for r in rs)]
    assert [r for r in everything if ">=" not in r and not r.startswith("llmcore[")] == []


def test_each_has_its_reason(root: Path) -> None:
    declared = project(root)
    assert set(declared["optional-dependencies"]) == EXTRAS
    page = (root / "docs" / "dependencies.md").read_text(encoding="utf-8")
    runtime, extras = page.split("## Extras")
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", runtime, re.MULTILINE) == names(declared["dependencies"])
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| `([a-z]+)` \|", extras, re.MULTILINE)
    assert listed == [(n, extra) for extra, rs in declared["optional-dependencies"].items() for n in names(rs)]


def test_nothing_else_is_imported() -> None:
    package = Path(llmcore.__path__[0])
    folders = [package, *(package / name for name in ("protocols", "providers", "tools"))]
    found = set[str]()
    for file in {file for folder in folders for file in folder.rglob("*.py")}:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    assert found - sys.stdlib_module_names - {"llmcore"} <= RUNTIME | set(BROUGHT) | EXTRA
