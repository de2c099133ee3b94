"""The README's two commands, the changelog's newest version, and the links between the pages."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import llmcore

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.fixture(params=["Quick start", "Tests"])
def command(request: pytest.FixtureRequest, root: Path, python: Callable) -> str:
    """What `.ci/run` runs for that heading."""
    done = python(str(root / "scripts" / "readme_command.py"), request.param, cwd=root)
    assert done.status == 0, done.err
    return done.out.removesuffix("\n")


def test_the_commands_set_up_everything(command: str) -> None:
    """Both make the same environment and install into it; neither relies on another step, nor undoes the other's."""
    steps = [shlex.split(step) for step in command.split("&&")]
    assert steps[0] == ["python3", "-m", "venv", ".venv"]
    assert steps[1][:4] == [".venv/bin/python", "-m", "pip", "install"]
    assert "--editable" in steps[1]
    assert [step[0].startswith(".venv/bin/") for step in steps[1:]] == [True] * len(steps[1:])
    assert len(steps) == 3


def test_the_checks_run_what_the_readme_says(checkout: Path) -> None:
    script = checkout / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    text = script.read_text(encoding="utf-8")
    assert 'readme_command.py "Quick start"' in text
    assert "readme_command.py Tests" in text


def test_a_heading_without_a_command_is_named(root: Path, python: Callable) -> None:
    done = python(str(root / "scripts" / "readme_command.py"), "No such heading", cwd=root)
    assert done.status == 1
    assert "No such heading" in done.err


def test_the_changelog_is_of_this_version(root: Path) -> None:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", text, re.MULTILINE)
    assert newest is not None
    assert newest[1] == llmcore.__version__


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    broken = [target for target in targets if not (page.parent / target.partition("#")[0]).exists()]
    if not (ROOT / "protocols").is_dir():  # the suite runs on the wheel: the sources are not here
        broken = [
            target
            for target in broken
            if not re.search(r"(^|/)(llmcore|protocols|providers|tools|bench|\.ci)/", target)
        ]
    assert broken == []


def test_every_decision_is_listed(root: Path) -> None:
    folder = root / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[a-z0-9-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert listed == sorted(page.name for page in folder.glob("[0-9]*.md"))
    for number, name in enumerate(listed, start=1):
        assert name.startswith(f"{number:04}-")
        title = (folder / name).read_text(encoding="utf-8").splitlines()[0]
        assert title.startswith(f"# {number:04}: ")
