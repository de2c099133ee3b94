"""The documentation site builds without a warning and without a network; what is made from the source is up to date."""

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "http://127.0.0.1:9"  # the discard port: no proxy is there


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, importable: dict[str, str]) -> Path:
    """The folder of the built site; skips without the extra `docs`."""
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-d", str(folder / "doctrees")]
    env = {**importable, "PYTHONDONTWRITEBYTECODE": "1", "HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE}
    built = subprocess.run(
        [*command, str(ROOT / "docs"), str(folder / "html")],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    return folder / "html"


class Fetched(HTMLParser):
    """What a browser loads by itself for a page, and the page's text."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "img", "iframe", "source", "video", "audio", "embed", "object"}:
            self.urls += [url for name in ("src", "data") if (url := given.get(name))]
        elif tag == "link" and {"stylesheet", "preload", "icon", "preconnect"} & set((given.get("rel") or "").split()):
            self.urls.append(given.get("href") or "")


def elsewhere(url: str) -> bool:
    return re.match(r"(?:[a-z]+:)?//", url) is not None


def test_pages_are_built(site: Path) -> None:
    sources = [page for ending in ("*.md", "*.rst") for page in (ROOT / "docs").rglob(ending)]
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in sources}
    assert pages <= {page.relative_to(site) for page in site.rglob("*.html")}


def test_a_reader_fetches_nothing_from_elsewhere(site: Path) -> None:
    loaded = list[str]()
    for page in site.rglob("*.html"):
        parser = Fetched()
        parser.feed(page.read_text(encoding="utf-8"))
        loaded += parser.urls
    for style in site.rglob("*.css"):
        loaded += re.findall(r"(?:url\(|@import\s+)[\"']?([^\"')\s]+)", style.read_text(encoding="utf-8"))
    assert loaded != []
    assert [url for url in loaded if elsewhere(url)] == []


@pytest.mark.parametrize(
    ("page", "id"),
    [
        ("client", "llmcore.client.Client.generate"),
        ("schema", "llmcore.schema.message.Message.user"),
        ("events", "llmcore.lifecycle.violations"),
        ("errors", "llmcore.errors.RateLimitError"),
        ("routes", "llmcore.route.Route"),
        ("protocols", "llmcore.protocol.Protocol"),
        ("testing", "llmcore.testing.ScriptedModel"),
    ],
)
def test_the_reference_has(page: str, id: str, site: Path) -> None:
    assert f'id="{id}"' in (site / "reference" / f"{page}.html").read_text(encoding="utf-8")


def test_docstrings_are_set_as_they_are_meant(site: Path) -> None:
    """Code in single backticks, also before a letter; lists; drawings. Nothing of the markup is left over."""
    protocol = (site / "reference" / "protocols.html").read_text(encoding="utf-8")
    assert '<span class="pre">LLMError</span>' in protocol
    errors = (site / "reference" / "errors.html").read_text(encoding="utf-8")
    assert re.search(r"<pre>.*├── AuthError +auth", errors, re.DOTALL)
    for page in (site / "reference").glob("*.html"):
        text = re.sub(r"<(script|pre)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert "``" not in re.sub(r"<[^>]+>", "", text), page.name


@pytest.mark.parametrize("script", ["lifecycle_diagram.py", "provider_table.py"])
def test_what_is_made_from_the_source_is_up_to_date(
    script: str, root: Path, python: Callable, importable: dict[str, str]
) -> None:
    done = python(str(root / "scripts" / script), cwd=root, env=importable)
    assert done.status == 0, f"{done.out}{done.err}"
