"""The registry: names to models, doors in order, nothing imported before its time, errors that say what to do."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from llmcore import registry
from llmcore.errors import ConfigError
from llmcore.secret import Secret

Run = Callable[[str], str]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder for installed distributions, as `sys.path` has them."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def run(site: Path) -> Run:
    """Runs code in a fresh interpreter that sees `site`; gives what it printed."""

    def run(code: str) -> str:
        code = f"import sys; sys.path.append({str(site)!r})\n" + textwrap.dedent(code)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def install(site: Path, distribution: str, entries: str, **modules: str) -> None:
    """Puts a distribution with these entry points (lines of `name = module:object`) and modules into `site`."""
    info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.ENTRY_POINT_GROUP}]\n{textwrap.dedent(entries)}\n")
    for name, source in modules.items():
        (site / f"{name}.py").write_text(textwrap.dedent(source))


EXAMPLE = """
    from llmcore import auth
    from llmcore.framing import SSE
    from llmcore.protocols.openai_chat import OPENAI_CHAT
    from llmcore.route import Provider, Route, post

    def declared(id):
        route = Route(
            id=f"{id}/chat", protocol=OPENAI_CHAT, base_url="https://api.example.com/v1",
            endpoint=post("/chat/completions"), auth=auth.bearer("EXAMPLE_API_KEY"), framing=SSE,
        )
        return Provider(id=id, docs="https://docs.example.com", evidence="documented", route=route)

    PROVIDER = declared("example")
    IMPOSTOR = declared("groq")
    NO_PROVIDER = {"id": "example"}
"""

SHOW_ERROR = """
    from llmcore import registry
    from llmcore.errors import ConfigError
    try:
        {call}
    except ConfigError as error:
        print(error)
"""


# -- Names of models


@pytest.mark.parametrize(
    ("name", "id", "model"),
    [
        ("groq:llama-3.3-70b-versatile", "groq/chat", "llama-3.3-70b-versatile"),
        ("groq/chat:openai/gpt-oss-20b", "groq/chat", "openai/gpt-oss-20b"),
        ("openai/chat:gpt-5-mini", "openai/chat", "gpt-5-mini"),
        ("openrouter:anthropic/claude-3.7-sonnet:thinking", "openrouter/chat", "anthropic/claude-3.7-sonnet:thinking"),
        ("ollama:gpt-oss:20b", "ollama/chat", "gpt-oss:20b"),
        ("ollama/cloud:gpt-oss:20b", "ollama/cloud", "gpt-oss:20b"),
    ],
)
def test_a_name_is_split_at_its_first_colon(name: str, id: str, model: str) -> None:
    made = registry.resolve(name)
    assert (made.route.id, made.name) == (id, model)
    assert made.id == f"{id}:{model}"


@pytest.mark.parametrize("name", ["", "gpt-5", "groq", "groq:", ":gpt-5", "/chat:x", "groq/:x", "groq: x", "groq:x\n"])
def test_a_name_of_another_form_is_refused_with_the_form(name: str) -> None:
    with pytest.raises(ConfigError, match="provider:model or provider/api:model"):
        registry.resolve(name)


@pytest.mark.parametrize("name", [None, 7, b"groq:x", ["groq:x"]])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    with pytest.raises(ConfigError, match=f"not {type(name).__name__}"):
        registry.resolve(name)


def test_a_long_wrong_name_is_not_repeated_whole() -> None:
    with pytest.raises(ConfigError) as caught:
        registry.resolve("x" * 100_000)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gorq:x", "unknown provider 'gorq'; did you mean 'groq'?"),
        ("open_router:x", "unknown provider 'open_router'; did you mean 'openrouter'?"),
        ("compatible:x", "unknown provider 'compatible'"),
        ("ollama/clod:x", "provider ollama: unknown api 'clod'; did you mean 'cloud'?"),
        ("openai:gpt-5", "provider openai has no default api; name one: openai/chat:gpt-5"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        registry.resolve(name)
    assert said in str(caught.value)


def test_key_and_place_of_the_callers_own_are_taken() -> None:
    key = Secret("k-123456")
    model = registry.resolve("groq:x", api_key=key, base_url="http://127.0.0.1:1/v1")
    assert model.credential is key
    assert model.base_url == "http://127.0.0.1:1/v1"


# -- Providers


def test_a_provider_is_made_once() -> None:
    assert registry.provider("groq") is registry.provider("groq")
    assert registry.provider("azure") is registry.provider("azure")


def test_all_providers_are_listed_by_id() -> None:
    ids = [provider.id for provider in registry.providers()]
    assert ids == sorted(set(ids))
    assert {"azure", "cloudflare", "openai", "openai-compatible", "openrouter", "groq", "huggingface"} <= set(ids)


# -- Doors


def test_finding_one_provider_imports_no_other_module(run: Run) -> None:
    loaded = run("""
        from llmcore import registry
        def modules():  # without the pieces of the table of rows
            return sorted(name for name in sys.modules if name.startswith("llmcore.providers.") and "._" not in name)
        registry.resolve("groq:x")
        print(*modules())
        registry.resolve("openai/chat:x")
        print(*modules())
    """)
    assert loaded.splitlines() == [
        "llmcore.providers.compatible",
        "llmcore.providers.compatible llmcore.providers.openai",
    ]


def test_importing_the_registry_imports_no_provider_or_protocol(run: Run) -> None:
    assert (
        run("""
            import llmcore.registry
            print(*[name for name in sys.modules if name.startswith(("llmcore.providers", "llmcore.protocols"))])
            print("importlib.metadata" in sys.modules)
        """)
        == "False"
    )


def test_a_strangers_provider_comes_through_its_entry_point(site: Path, run: Run) -> None:
    install(site, "stranger", "example = example_provider:PROVIDER", example_provider=EXAMPLE)
    assert run("""
        from llmcore import registry
        registry.resolve("groq:x")
        print("example_provider" in sys.modules)
        print(registry.resolve("example:some/model:free").id)
        print("example" in [provider.id for provider in registry.providers()])
        print(registry.provider("example") is registry.provider("example"))
    """).splitlines() == ["False", "example/chat:some/model:free", "True", "True"]


@pytest.mark.parametrize(
    ("entries", "call", "said"),
    [
        (
            "groq = example_provider:IMPOSTOR",
            "registry.providers()",
            "distribution stranger declares provider 'groq', which llmcore declares; uninstall it, or",
        ),
        (
            "openai = example_provider:IMPOSTOR",
            "registry.provider('unknown')",
            "distribution stranger declares provider 'openai', which llmcore declares; uninstall it, or",
        ),
        (
            "other = example_provider:PROVIDER",
            "registry.provider('other')",
            "what is declared as provider other calls itself 'example'",
        ),
        (
            "example = example_provider:NO_PROVIDER",
            "registry.resolve('example:x')",
            "what is declared as provider example is no Provider but of type dict",
        ),
        (
            "example = example_provider:MISSING",
            "registry.resolve('example:x')",
            "provider example of distribution stranger cannot be loaded from example_provider:MISSING: AttributeError",
        ),
        (
            "example = no_such_module:PROVIDER",
            "registry.resolve('example:x')",
            "provider example of distribution stranger cannot be loaded from no_such_module:PROVIDER: ModuleNotFound",
        ),
        (
            "example = example_provider:PROVIDER",
            "registry.resolve('exampel:x')",
            "unknown provider 'exampel'; did you mean 'example'?",
        ),
    ],
)
def test_what_is_wrong_with_a_strangers_declaration_is_said(
    site: Path, run: Run, entries: str, call: str, said: str
) -> None:
    install(site, "stranger", entries, example_provider=EXAMPLE)
    assert said in run(SHOW_ERROR.format(call=call))


def test_two_strangers_may_not_declare_the_same_id(site: Path, run: Run) -> None:
    install(site, "stranger-a", "example = example_provider:PROVIDER", example_provider=EXAMPLE)
    install(site, "stranger-b", "example = example_provider:PROVIDER")
    said = run(SHOW_ERROR.format(call="registry.resolve('example:x')"))
    assert "declares provider 'example', which stranger-" in said


def test_our_own_provider_stays_ours_whatever_is_installed(site: Path, run: Run) -> None:
    install(site, "stranger", "groq = example_provider:IMPOSTOR", example_provider=EXAMPLE)
    assert (
        run("from llmcore import registry; print(registry.resolve('groq:x').base_url)")
        == "https://api.groq.com/openai/v1"
    )


def test_an_api_is_filed_under_its_routes_own_name(site: Path, run: Run) -> None:
    source = (
        EXAMPLE + "    import msgspec\n    PROVIDER = msgspec.structs.replace(PROVIDER, apis={'v2': PROVIDER.route})\n"
    )
    install(site, "stranger", "example = example_provider:PROVIDER", example_provider=source)
    said = run(SHOW_ERROR.format(call="registry.provider('example')"))
    assert said == "provider example: the route of api v2 is called example/chat, not example/v2"
