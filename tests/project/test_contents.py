"""What no file of the repository holds: credentials, absolute paths of somebody's machine, package-registry hosts."""

import re
from pathlib import Path

import pytest

PATTERNS = {
    "an OpenAI key": r"\bsk-(?=[A-Za-z0-9_-]*[0-9])(?=[A-Za-z0-9_-]*[A-Z])[A-Za-z0-9_-]{32,}",
    "a Groq key": r"\bgsk_[A-Za-z0-9]{40,}",
    "a Google key": r"\bAIza[A-Za-z0-9_-]{35}\b",
    "an AWS key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}",
    "a Hugging Face token": r"\bhf_[A-Za-z]{34}\b",
    "a private key": r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.",
    "somebody's folder": r"(?<![\w.:/])/(?:home|Users|root|work|tmp|mnt)/[\w.-]+",
    "a package registry": r"\b(?:pypi\.org|pythonhosted\.org|npmjs\.(?:com|org)|index\.crates\.io)\b",
}
ALLOWED: dict[str, str] = {}
"""File to pattern: the exceptions, each with its reason beside it."""

PLANTED = {
    "an OpenAI key": "sk-" + "proj-" + "A1b2" * 10,
    "a Groq key": "gsk" + "_" + "A1b2" * 13,
    "a Google key": "AIza" + "A1b2c" * 7,
    "an AWS key": "AKIA" + "A1B2" * 4,
    "a GitHub token": "ghp" + "_" + "A1b2" * 9,
    "a Hugging Face token": "hf" + "_" + "Ab" * 17,
    "a private key": "-----BEGIN " + "PRIVATE KEY-----",
    "a JSON web token": "eyJ" + "a1B2" * 6 + ".eyJ" + "a1B2" * 6 + ".",
    "somebody's folder": "open('/" + "home/anna/x')",
    "a package registry": "https://" + "pypi." + "org/simple",
}


@pytest.mark.parametrize("what", PATTERNS)
def test_the_pattern_finds(what: str) -> None:
    assert re.search(PATTERNS[what], f"x = {PLANTED[what]}")


def test_no_file_holds_it(checkout: Path, tracked: list[str]) -> None:
    found = list[str]()
    for name in tracked:
        try:
            text = (checkout / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a binary file
        for what, pattern in PATTERNS.items():
            if ALLOWED.get(name) != what and (hit := re.search(pattern, text)):
                found.append(f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {what}")
    assert found == []


def test_text_files_are_plain(checkout: Path, tracked: list[str]) -> None:
    """UTF-8 with LF line ends and one at the end."""
    bad = list[str]()
    for name in tracked:
        data = (checkout / name).read_bytes()
        if name.endswith((".py", ".md", ".toml", ".json", ".yml")) and data:
            data.decode("utf-8")
            if b"\r" in data or not data.endswith(b"\n") or data.endswith(b"\n\n"):
                bad.append(name)
    assert bad == []


def test_tests_are_modules_of_their_own(root: Path) -> None:
    """With `--import-mode=importlib` an `__init__.py` under `tests/` would give two modules one name."""
    assert list((root / "tests").rglob("__init__.py")) == []
