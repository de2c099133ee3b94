"""The ways in which llmcore is installed and imported, each from a copy of the checkout and without a network."""

import base64
import csv
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDERS = {
    "llmcore": "llmcore",
    "protocols": "llmcore/protocols",
    "providers": "llmcore/providers",
    "tools": "llmcore/tools",
}
"""The source folders, and where the wheel installs each."""

BUILD = "from setuptools import build_meta; print(build_meta.{hook}({folder!r}))"
LOOK = """
import importlib, json, pkgutil, sys
import llmcore
names = ["llmcore"] + [m.name for m in pkgutil.walk_packages(llmcore.__path__, "llmcore.")]
for name in names:
    if name != "llmcore.__main__":
        importlib.import_module(name)
files = {n: getattr(m, "__file__", None) for n, m in sys.modules.items() if n.partition(".")[0] == "llmcore"}
generic = [n for n in ("protocols", "providers", "tools") if importlib.util.find_spec(n) is not None]
print(json.dumps({"version": llmcore.__version__, "files": files, "generic": generic}))
"""
"""Imports every module and says where each came from."""


@pytest.fixture(scope="module")
def copy(checkout: Path, tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout without what git leaves out, its symbolic links kept."""
    folder = tmp_path_factory.mktemp("copy")
    for name in tracked:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(checkout / name, folder / name, follow_symlinks=False)
    for name in ("protocols", "providers", "tools"):
        link = folder / "llmcore" / name
        if not link.is_symlink():
            link.symlink_to(Path("..") / name)
    return folder


def build(python: Callable, hook: str, source: Path, target: Path) -> Path:
    """Runs a hook of the build backend in `source`; the path of what it built in `target`."""
    target.mkdir(exist_ok=True)
    done = python("-c", BUILD.format(hook=hook, folder=str(target)), cwd=source)
    assert done.status == 0, done.err
    return target / done.out.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(copy: Path, python: Callable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a second copy: what a build leaves behind must not reach the other tests."""
    source = tmp_path_factory.mktemp("wheel") / "source"
    shutil.copytree(copy, source, symlinks=True)
    return build(python, "build_wheel", source, source.parent / "dist")


@pytest.fixture(scope="module")
def sdist(copy: Path, python: Callable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("sdist") / "source"
    shutil.copytree(copy, source, symlinks=True)
    return build(python, "build_sdist", source, source.parent / "dist")


def site_packages() -> str:
    """Where the dependencies are: a plain folder on the path there brings no `.pth` file and so no install of ours."""
    import msgspec

    return str(Path(msgspec.__file__).parents[1])


def look(python: Callable, place: Path, cwd: Path, first: str = "") -> dict:
    """Imports everything in a Python that sees `place` and the dependencies, and nothing that is installed (`-S`)."""
    import msgspec

    path = [str(place), site_packages()]
    done = python("-S", "-P", "-c", f"import sys; sys.path[:0] = {path!r}\n{first}\n{LOOK}", cwd=cwd)
    assert done.status == 0, done.err
    return msgspec.json.decode(done.out)


def modules(tracked: list[str]) -> set[str]:
    """The modules that git has, by name."""
    found = set[str]()
    for name in tracked:
        folder, _, rest = name.partition("/")
        if folder in FOLDERS and name.endswith(".py"):
            dotted = f"{FOLDERS[folder]}/{rest}"[:-3].removesuffix("/__init__").replace("/", ".")
            found.add(dotted)
    return found


def listed(seen: dict) -> set[str]:
    return set(seen["files"]) | {"llmcore.__main__"}


def test_the_wheel_has_what_git_has(tracked: list[str], wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = set[str]()
    for name in tracked:
        folder, slash, rest = name.partition("/")
        if slash and folder in FOLDERS and (name.endswith((".py", "py.typed")) or "/data/" in name):
            expected.add(f"{FOLDERS[folder]}/{rest}")
    assert packed == expected
    kept = {name for name in tracked if name.partition("/")[0] in FOLDERS and "/" in name}
    assert len(kept - {f"llmcore/{link}" for link in ("protocols", "providers", "tools")}) == len(expected), (
        "a file of the source folders is neither Python nor declared package data"
    )


def test_the_wheel_is_sound(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert len(names) == len(set(names))
        assert not [name for name in names if name.endswith(".pth")]
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = {row[0]: row[1] for row in csv.reader(io.StringIO(archive.read(record).decode()))}
        assert set(rows) == set(names)
        for name in names:
            if name != record:
                digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
                assert rows[name] == f"sha256={digest}"
        tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
        assert tops == {"llmcore"}
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_no_module_has_two_names(python: Callable, wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    seen = look(python, tmp_path / "site", cwd=tmp_path)
    places = [file for file in seen["files"].values() if file]
    assert len(places) == len(set(places))
    assert seen["generic"] == []


@pytest.mark.parametrize("how", ["wheel", "sdist", "plain", "git"])
def test_installed(
    how: str, copy: Path, wheel: Path, sdist: Path, python: Callable, tracked: list[str], tmp_path: Path
) -> None:
    """Each way that pip has in, then used from elsewhere."""
    source = tmp_path / "source"
    if how in ("plain", "git"):
        shutil.copytree(copy, source, symlinks=True)
    if how == "git":
        if shutil.which("git") is None:
            pytest.skip("git is not on the path")
        git = ["git", "-C", str(source), "-c", "user.name=test", "-c", "user.email=test@example.com"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
            subprocess.run([*git, *words], check=True, capture_output=True)
    what = {"wheel": wheel, "sdist": sdist, "plain": source, "git": f"git+file://{source}"}[how]
    pip = ["-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--quiet"]
    done = python(
        *pip, "--target", str(tmp_path / "site"), str(what), cwd=tmp_path, env={"PIP_CONFIG_FILE": "/dev/null"}
    )
    assert done.status == 0, done.err
    seen = look(python, tmp_path / "site", cwd=tmp_path)
    assert listed(seen) == modules(tracked)
    assert all(Path(file).is_relative_to(tmp_path / "site") for file in seen["files"].values() if file)
    assert (tmp_path / "site" / "bin" / "llmcore").exists() or sys.platform == "win32"


def test_editable(copy: Path, python: Callable, tracked: list[str], tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(copy, source, symlinks=True)
    editable = build(python, "build_editable", source, tmp_path / "dist")
    site = tmp_path / "site"
    with zipfile.ZipFile(editable) as archive:
        archive.extractall(site)
    hooks = {file.name for file in site.iterdir() if not file.name.endswith(".dist-info")}
    assert all(name.startswith("__editable__") for name in hooks)
    seen = look(python, site, cwd=tmp_path, first=f"import site; site.addsitedir({str(site)!r})")
    assert listed(seen) == modules(tracked)
    assert seen["generic"] == []
    real = [Path(file).resolve() for file in seen["files"].values() if file]
    assert all(file.is_relative_to(source) for file in real)
    assert len(real) == len(set(real))


def test_a_checkout_that_is_not_installed(copy: Path, python: Callable, tracked: list[str], tmp_path: Path) -> None:
    seen = look(python, copy, cwd=tmp_path)
    assert listed(seen) == modules(tracked)
    real = [Path(file).resolve() for file in seen["files"].values() if file]
    assert len(real) == len(set(real))


def test_from_the_root(copy: Path, python: Callable) -> None:
    """`python -m llmcore` in the checkout, with the dependencies and no install."""
    code = f"import sys; sys.path[:0] = ['', {site_packages()!r}]; import runpy; sys.argv = ['llmcore', '--version']; "
    done = python("-S", "-c", code + "runpy.run_module('llmcore', run_name='__main__', alter_sys=True)", cwd=copy)
    assert done.status == 0, done.err
    version = (copy / "llmcore" / "_version.py").read_text().split('"')[1]
    assert version in done.out


def test_the_sdist_builds_the_same_wheel(sdist: Path, wheel: Path, python: Callable, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    source = next(path for path in tmp_path.iterdir() if path.is_dir())
    again = build(python, "build_wheel", source, tmp_path / "dist")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        for name in one.namelist():
            if not name.endswith("/RECORD"):
                assert one.read(name) == other.read(name), name


def test_the_packages_are_all_listed(checkout: Path, tracked: list[str]) -> None:
    setuptools = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    homes = {home.replace("/", "."): folder for folder, home in FOLDERS.items()}
    assert setuptools["package-dir"] == homes
    folders = {
        name.rpartition("/")[0] for name in tracked if name.endswith(".py") and name.partition("/")[0] in FOLDERS
    }
    packages = {re.sub(r"^[a-z]+", lambda top: FOLDERS[top[0]], folder).replace("/", ".") for folder in folders}
    assert sorted(setuptools["packages"]) == sorted(packages)
    assert [folder for folder in folders if f"{folder}/__init__.py" not in tracked] == []


@pytest.mark.parametrize("name", ["protocols", "providers", "tools"])
def test_the_links(checkout: Path, name: str) -> None:
    """Relative, so that they hold in every clone."""
    link = checkout / "llmcore" / name
    if link.is_file():
        pytest.skip("git keeps links as text here: this file system has none")
    assert link.readlink().as_posix() == f"../{name}"
