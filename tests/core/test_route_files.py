"""Route files: where they are looked for, when they are read, what counts where several declare, and a call to a vendor
that is known from one."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import llmcore
from llmcore import SSE, Provider, Route, bearer, post, registry
from llmcore.cassette import ReplayServer, Reply
from llmcore.declarations import files
from llmcore.errors import AuthError, ConfigError
from llmcore.protocols.openai_chat import OPENAI_CHAT

HOUSE = """\
[providers.house]
docs = "https://llm.example.com/docs"

[providers.house.route]
id = "house/chat"
protocol = "openai-chat"
base_url = "https://llm.example.com/v1"
endpoint = { path = "/chat/completions" }
auth = { bearer = ["EXAMPLE_API_KEY"] }
framing = "sse"
"""
GROQ = HOUSE.replace("house", "groq")
OVERRIDE = GROQ.replace('docs"\n', 'docs"\noverride = true\n', 1)
OURS = "https://api.groq.com/openai/v1"
THEIRS = "https://llm.example.com/v1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that `LLMCORE_CONFIG` names, empty, and a registry that has read nothing."""
    folder = tmp_path / "routes"
    folder.mkdir()
    monkeypatch.setenv("LLMCORE_CONFIG", str(folder))
    forget()
    yield folder
    forget()


def forget() -> None:
    registry._LOADED.clear()
    registry._configured.cache_clear()
    registry._provider.cache_clear()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# -- Where


@pytest.mark.parametrize(
    ("platform", "environ", "below"),
    [
        ("linux", {"HOME": "{root}"}, ".config/llmcore/routes"),
        ("linux", {"HOME": "{root}", "XDG_CONFIG_HOME": "{root}/xdg"}, "xdg/llmcore/routes"),
        ("linux", {"HOME": "{root}", "XDG_CONFIG_HOME": ""}, ".config/llmcore/routes"),
        ("linux", {"HOME": "{root}", "XDG_CONFIG_HOME": "relative"}, ".config/llmcore/routes"),
        ("linux", {"HOME": "{root}", "APPDATA": "{root}/other"}, ".config/llmcore/routes"),
        ("freebsd14", {"HOME": "{root}"}, ".config/llmcore/routes"),
        ("darwin", {"HOME": "{root}", "XDG_CONFIG_HOME": "{root}/x"}, "Library/Application Support/llmcore/routes"),
        ("win32", {"APPDATA": "{root}/roaming"}, "roaming/llmcore/routes"),
        ("win32", {"USERPROFILE": "{root}"}, "AppData/Roaming/llmcore/routes"),
        ("linux", {"HOME": "relative"}, None),
    ],
)
def test_the_users_folder(platform: str, environ: dict[str, str], below: str | None, tmp_path: Path) -> None:
    environ = {name: value.format(root=tmp_path) for name, value in environ.items()}
    expected = None if below is None else tmp_path / below
    assert files.user_folder(environ, platform) == expected
    assert files.configured(environ, platform) == ()
    if expected is not None:
        file = write(expected / "a.toml", "")
        assert files.configured(environ, platform) == (file,)


def test_a_folders_files_come_by_name_and_others_are_left_alone(folder: Path) -> None:
    for name in ("b.toml", "a.toml", ".hidden.toml", "a.toml~", "notes.txt"):
        write(folder / name, "")
    (folder / ".#a.toml").symlink_to(folder / "gone")  # an editor's lock
    write(folder / "sub" / "c.toml", "")
    assert [file.name for file in files.configured()] == ["a.toml", "b.toml"]


def test_the_variable_stands_in_place_of_the_users_folder(tmp_path: Path) -> None:
    home, file = write(tmp_path / ".config/llmcore/routes/home.toml", ""), write(tmp_path / "other.routes", "")
    environ = {"HOME": str(tmp_path)}
    assert files.configured(environ, "linux") == (home,)
    assert files.configured({**environ, "LLMCORE_CONFIG": " "}, "linux") == (home,)
    assert files.configured({**environ, "LLMCORE_CONFIG": str(file)}, "linux") == (file,)


def test_an_empty_device_is_a_file_without_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMCORE_CONFIG", os.devnull)
    with pytest.raises(ConfigError, match="unknown provider 'house'"):
        registry.provider("house")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("routes", "LLMCORE_CONFIG is the absolute path of a route file or a folder of them, not 'routes'"),
        ("./house.toml", "LLMCORE_CONFIG is the absolute path"),
        ("{root}/gone", "LLMCORE_CONFIG: .*gone cannot be read: No such file"),
    ],
)
def test_a_variable_that_names_nothing_is_refused(
    value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path / "here" / "house.toml", HOUSE).parent)
    monkeypatch.setenv("LLMCORE_CONFIG", value.format(root=tmp_path))
    with pytest.raises(ConfigError, match=said):
        registry.resolve("groq:x")


def test_a_file_in_the_way_of_the_users_folder_is_none(tmp_path: Path) -> None:
    write(tmp_path / ".config/llmcore", "")
    assert files.configured({"HOME": str(tmp_path)}, "linux") == ()


def test_a_folder_out_of_reach_is_none_unless_it_was_named(tmp_path: Path) -> None:
    routes = write(tmp_path / ".config/llmcore/routes/a.toml", "").parent
    routes.chmod(0)
    try:
        if os.access(routes, os.R_OK):
            pytest.skip("nothing is out of reach of this user")
        assert files.configured({"HOME": str(tmp_path)}, "linux") == ()
        with pytest.raises(ConfigError, match="Permission denied"):
            files.configured({"LLMCORE_CONFIG": str(routes)}, "linux")
    finally:
        routes.chmod(0o700)


def test_nothing_is_read_from_the_working_directory(tmp_path: Path) -> None:
    for name in ("house.toml", "routes.toml", "routes/house.toml", "llmcore/routes/house.toml", ".config/llmcore.toml"):
        write(tmp_path / "here" / name, HOUSE)
    said = run("print(known('house'))", cwd=tmp_path / "here", HOME=str(tmp_path / "home"), XDG_CONFIG_HOME=".")
    assert said == "False"


# -- When

PRELUDE = """
import sys
looked = []
def hook(event, arguments):
    name = str(arguments[0]).rpartition("/")[2] if arguments else ""
    if event == "open" and name.endswith(".toml") or event == "os.scandir" and name == "routes":
        looked.append(f"{event} {name}")
sys.addaudithook(hook)
import llmcore
from llmcore import registry
from llmcore.errors import ConfigError
def known(id):
    try:
        registry.provider(id)
    except ConfigError:
        return False
    return True
"""


def run(code: str, *, cwd: Path, **environ: str) -> str:
    """What the code prints in a fresh interpreter with nothing but `environ` said of a configuration."""
    kept = {n: v for n, v in os.environ.items() if n not in ("LLMCORE_CONFIG", "HOME", "XDG_CONFIG_HOME")}
    path = str(Path(llmcore.__path__[0]).parent)
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        env={**kept, "PYTHONPATH": path, **environ}, cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_files_one_look_is_all_there_is(tmp_path: Path) -> None:
    said = run(
        """
        print(looked)
        registry.resolve("groq:x"), registry.resolve("openai/chat:x"), registry.providers()
        print(looked)
        print([name for name in ("tomllib", "llmcore.declarations.document") if name in sys.modules])
        """,
        cwd=tmp_path, HOME=str(tmp_path),
    )  # fmt: skip
    assert said.splitlines() == ["[]", "['os.scandir routes']", "[]"]


def test_files_are_read_at_the_first_use_of_any_provider_and_once(tmp_path: Path) -> None:
    folder = write(tmp_path / ".config/llmcore/routes/house.toml", HOUSE).parent
    write(folder / "groq.toml", OVERRIDE)
    said = run(
        """
        print(looked)
        registry.resolve("openai/chat:x")
        print(looked)
        print("llmcore.declarations.build" in sys.modules)
        print(registry.resolve("house:x").base_url, registry.resolve("groq:x").base_url)
        print(known("nobody"), registry.provider("house") is registry.provider("house"))
        print(len(looked))
        """,
        cwd=tmp_path, HOME=str(tmp_path),
    )  # fmt: skip
    assert said.splitlines() == [
        "[]",
        "['os.scandir routes', 'open groq.toml', 'open house.toml']",
        "False",
        f"{THEIRS} {THEIRS}",
        "False True",
        "3",
    ]


# -- What counts


def test_what_a_file_declares_is_a_provider_like_any_other(folder: Path) -> None:
    write(folder / "house.toml", HOUSE)
    model = registry.resolve("house/chat:some/model:free")
    assert (model.id, model.base_url) == ("house/chat:some/model:free", THEIRS)
    assert "house" in [provider.id for provider in registry.providers()]
    with pytest.raises(ConfigError, match="unknown provider 'hous'; did you mean 'house'"):
        registry.resolve("hous:x")
    with pytest.raises(ConfigError, match="provider house: unknown api 'chatt'; did you mean 'chat'"):
        registry.resolve("house/chatt:x")


def test_a_known_id_is_redefined_only_by_a_file_that_says_so(folder: Path) -> None:
    file = write(folder / "groq.toml", GROQ)
    with pytest.raises(ConfigError) as caught:
        registry.resolve("groq:x")
    assert str(caught.value) == (
        f"{file}:1: providers.groq: provider groq is declared already, by llmcore; take another id "
        "(override = true in its table allows it)"
    )
    assert registry.resolve("mistral:x").base_url == "https://api.mistral.ai/v1"
    with pytest.raises(ConfigError, match="declared already"):
        registry.providers()
    forget()
    write(file, OVERRIDE)
    assert registry.resolve("groq:x").base_url == THEIRS


def test_two_files_may_not_declare_the_same_id_unless_the_later_says_so(folder: Path) -> None:
    first, later = write(folder / "a.toml", HOUSE), write(folder / "b.toml", HOUSE.replace("/v1", "/v2"))
    with pytest.raises(ConfigError) as caught:
        registry.resolve("house:x")
    assert str(caught.value).startswith(
        f"{later}:1: providers.house: provider house is declared already, by {first}; take another id"
    )
    forget()
    write(later, HOUSE.replace("/v1", "/v2").replace('docs"\n', 'docs"\noverride = true\n', 1))
    assert registry.resolve("house:x").base_url == "https://llm.example.com/v2"


def test_the_key_of_a_file_is_not_for_another_file(folder: Path) -> None:
    write(folder / "a.toml", HOUSE)
    other = HOUSE.replace("house", "hut").replace("llm.example.com/v1", "elsewhere.example.com")
    write(folder / "b.toml", other)
    for name, host in (("house", "llm.example.com"), ("hut", "elsewhere.example.com")):
        with pytest.raises(ConfigError, match=f"EXAMPLE_API_KEY is the key of .*, and {host} is none of its hosts"):
            registry.provider(name)
    forget()
    write(folder / "b.toml", other.replace('docs"\n', 'docs"\noverride = true\n', 1))
    assert registry.resolve("hut:x").base_url == "https://elsewhere.example.com"
    assert registry.resolve("house:x").base_url == THEIRS
    forget()
    (folder / "b.toml").unlink()
    write(folder / "a.toml", HOUSE + other)  # whoever wrote the file had both before him
    assert [registry.resolve(f"{name}:x").name for name in ("house", "hut")] == ["x", "x"]


def test_what_is_wrong_with_one_provider_is_told_where_it_is_used(folder: Path) -> None:
    write(folder / "a.toml", HOUSE.replace("docs =", "dogs ="))
    write(folder / "b.toml", HOUSE.replace("house", "hut"))
    assert registry.resolve("hut:x").base_url == registry.resolve("hut:y").base_url == THEIRS
    assert registry.resolve("groq:x").base_url == OURS
    with pytest.raises(ConfigError, match=r"a\.toml:2: providers\.house\.dogs: unknown key 'dogs'"):
        registry.resolve("house:x")


def test_a_file_that_cannot_be_read_stops_every_lookup_until_it_is_mended(folder: Path) -> None:
    file = write(folder / "a.toml", HOUSE + "[")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"a\.toml:11: this is no TOML"):
            registry.resolve("groq:x")
    write(file, HOUSE)
    assert registry.resolve("groq:x").base_url == OURS
    assert registry.resolve("house:x").base_url == THEIRS


@pytest.mark.parametrize("text", [HOUSE, HOUSE.replace('docs"\n', 'docs"\noverride = true\n', 1)])
def test_a_file_and_a_distribution_of_the_same_id(text: str, tmp_path: Path) -> None:
    site = tmp_path / "site"
    write(site / "stranger-1.0.dist-info" / "METADATA", "Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    write(
        site / "stranger-1.0.dist-info" / "entry_points.txt",
        f"[{registry.ENTRY_POINT_GROUP}]\nhouse = stranger:PROVIDER\nbroken = stranger:MISSING\n",
    )
    write(site / "stranger.py", "from llmcore.registry import provider\nPROVIDER = provider('groq')\n")
    said = run(
        f"""
        sys.path.append({str(site)!r})
        try:
            print(registry.resolve("house:x").base_url)
        except ConfigError as error:
            print(error)
        """,
        cwd=tmp_path, LLMCORE_CONFIG=str(write(tmp_path / "house.toml", text)),
    )  # fmt: skip
    declared_already = "provider house is declared already, by distribution stranger; take another id"
    assert (said == THEIRS) if "override" in text else (declared_already in said)


# -- Loaded by a program


def test_a_program_loads_a_file_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "house.toml", HOUSE)
    monkeypatch.chdir(tmp_path)
    (house,) = registry.load_routes("house.toml")
    assert registry.provider("house") is house
    assert registry.resolve("house:x").route is house.route
    assert registry.load_routes(tmp_path / "house.toml") == (house,)  # again: the same file, read anew


def test_a_program_loads_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "more" / "b.toml", HOUSE.replace("house", "hut"))
    write(tmp_path / "more" / "a.toml", HOUSE)
    assert [provider.id for provider in registry.load_routes(tmp_path / "more")] == ["house", "hut"]
    assert [registry.resolve(f"{name}:x").name for name in ("house", "hut")] == ["x", "x"]


def test_a_file_that_is_loaded_again_counts_as_it_is_now(tmp_path: Path) -> None:
    file = write(tmp_path / "house.toml", HOUSE)
    registry.load_routes(file)
    before = registry.resolve("house:x")
    write(file, HOUSE.replace("/v1", "/v2"))
    registry.load_routes(file)
    assert registry.resolve("house:x").base_url == "https://llm.example.com/v2"
    assert before.base_url == THEIRS


def test_a_file_of_the_users_that_is_loaded_is_one_file(folder: Path) -> None:
    file = write(folder / "house.toml", HOUSE)
    registry.resolve("house:x")
    write(file, HOUSE.replace("/v1", "/v2"))
    registry.load_routes(file)
    assert registry.resolve("house:x").base_url == "https://llm.example.com/v2"


def test_what_is_loaded_may_not_redefine_unless_it_says_so(folder: Path, tmp_path: Path) -> None:
    write(folder / "house.toml", HOUSE)
    assert registry.resolve("groq:x").base_url == OURS
    for text in (HOUSE, GROQ):
        with pytest.raises(ConfigError, match="is declared already, by"):
            registry.load_routes(write(tmp_path / "mine.toml", text))
    assert registry.resolve("groq:x").base_url == OURS
    registry.load_routes(write(tmp_path / "mine.toml", OVERRIDE))
    assert registry.resolve("groq:x").base_url == THEIRS


def test_nothing_of_a_file_counts_where_anything_is_wrong(tmp_path: Path) -> None:
    text = HOUSE + HOUSE.replace("house", "hut").replace("docs =", "dogs =")
    with pytest.raises(ConfigError, match=r"mine\.toml:12: providers\.hut\.dogs"):
        registry.load_routes(write(tmp_path / "mine.toml", text))
    with pytest.raises(ConfigError, match="unknown provider 'house'"):
        registry.provider("house")


def test_to_check_a_file_is_not_to_load_it(tmp_path: Path) -> None:
    declared = registry.check_routes(write(tmp_path / "mine.toml", HOUSE))
    assert [provider.id for provider in declared.providers] == ["house"]
    with pytest.raises(ConfigError, match="unknown provider 'house'"):
        registry.provider("house")


def test_a_users_file_is_checked_as_it_is_now(folder: Path) -> None:
    file = write(folder / "house.toml", HOUSE)
    registry.resolve("house:x")
    write(file, HOUSE.replace("docs =", "dogs ="))
    assert [problem.line for problem in registry.check_routes(file).problems] == [2, 1]


# -- Protocols by id


def test_a_protocol_is_found_by_its_id() -> None:
    assert registry.protocol("openai-chat") is OPENAI_CHAT


@pytest.mark.parametrize("id", ["openai_chat", "openai-chart", "", "os", "..openai-chat", "__init__", "-init-"])
def test_a_protocol_that_is_none_is_refused(id: str) -> None:
    with pytest.raises(ConfigError, match="unknown protocol"):
        registry.protocol(id)


# -- The newcomer's path: a vendor in ten lines

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1760000000,
    "model": "house-7b",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}


def chunk(delta: dict[str, str], reason: str | None = None) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    return json.dumps({**ANSWER, "object": "chat.completion.chunk", "choices": choices})


def in_toml(base_url: str, tmp_path: Path) -> Provider:
    file = write(tmp_path / "house.toml", HOUSE.replace(THEIRS, base_url))
    (provider,) = registry.load_routes(file)
    return provider


def in_python(base_url: str, _: Path) -> Provider:
    return Provider(
        id="house",
        docs="https://llm.example.com/docs",
        evidence="documented",
        route=Route(
            id="house/chat",
            protocol=OPENAI_CHAT,
            base_url=base_url,
            endpoint=post("/chat/completions"),
            auth=bearer("EXAMPLE_API_KEY"),
            framing=SSE,
        ),
    )


@pytest.fixture(params=[in_toml, in_python])
def declare(request: pytest.FixtureRequest) -> Callable[[str, Path], Provider]:
    return request.param


def test_a_vendor_in_ten_lines_is_called(
    declare: Callable[[str, Path], Provider], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "ex-0123456789")
    streamed = Reply.sse(chunk({"content": "Hel"}), chunk({"content": "lo!"}), chunk({}, "stop"), "[DONE]")
    with ReplayServer([Reply.json(ANSWER), streamed]) as server, llmcore.Client() as client:
        house = declare(f"{server.url}/v1", tmp_path)
        model = "house:house-7b" if declare is in_toml else house.model("house-7b")
        whole = client.generate(model, "Say hello.")
        with client.stream(model, "Say hello.") as stream:
            pieces = list(stream.text_deltas())
        requests = server.requests
    assert (whole.text, whole.provider, whole.model) == ("Hello!", "house", "house-7b")
    assert pieces == ["Hel", "lo!"]
    assert [(request.method, request.path) for request in requests] == [("POST", "/v1/chat/completions")] * 2
    assert {request.header("authorization") for request in requests} == {"Bearer ex-0123456789"}
    assert [request.json() for request in requests] == [
        {"model": "house-7b", "messages": [{"role": "user", "content": "Say hello."}]},
        {
            "model": "house-7b",
            "messages": [{"role": "user", "content": "Say hello."}],
            "stream": True,
            "stream_options": {"include_usage": True},
        },
    ]


def test_a_missing_key_is_told_by_the_name_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EXAMPLE_API_KEY", raising=False)
    in_toml("http://127.0.0.1:1/v1", tmp_path)
    with pytest.raises(AuthError, match="set EXAMPLE_API_KEY"):
        llmcore.generate("house:house-7b", "Say hello.")
