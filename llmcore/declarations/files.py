"""Where route files are: what the environment names, else the user's configuration folder. Never the working directory.

    LLMCORE_CONFIG            a file, or a folder of *.toml, by its absolute path; it stands in place of:
    %APPDATA%\\llmcore\\routes\\*.toml                            on Windows
    ~/Library/Application Support/llmcore/routes/*.toml         on macOS
    $XDG_CONFIG_HOME/llmcore/routes/*.toml                      elsewhere; ~/.config without that variable

Source of the last: https://specifications.freedesktop.org/basedir-spec/latest/ ("All paths … must be absolute").
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from llmcore.errors import ConfigError
from llmcore.schema.base import excerpt

__all__ = ["VARIABLE", "configured", "files_at", "user_folder"]

VARIABLE: Final = "LLMCORE_CONFIG"

_FOLDERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "win32": ("APPDATA", ("AppData", "Roaming")),
    "darwin": ("", ("Library", "Application Support")),
}
_ELSEWHERE: Final = ("XDG_CONFIG_HOME", (".config",))
"""The variable that names the folder of all configuration, and where under the user's home it is without it."""


def configured(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> tuple[Path, ...]:
    """The route files that are read without being asked for, in order. Raises `ConfigError` where `LLMCORE_CONFIG`
    names what is not there; the user's folder may be absent, or out of reach."""
    named = environ.get(VARIABLE, "").strip()
    if named:
        path = Path(named)
        if not path.is_absolute():
            raise ConfigError(
                f"{VARIABLE} is the absolute path of a route file or a folder of them, not {excerpt(named)}"
            )
        try:
            return files_at(path)
        except ConfigError as problem:
            raise ConfigError(f"{VARIABLE}: {problem}") from None
    folder = user_folder(environ, platform)
    try:
        return _in(folder) if folder is not None else ()
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # of a service, the home is often another's
        return ()


def user_folder(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path | None:
    """The user's own folder of route files, there or not; `None` where no absolute path leads to one."""
    variable, below = _FOLDERS.get(platform, _ELSEWHERE)
    base = environ.get(variable, "") if variable else ""
    if not Path(base).is_absolute():
        home = environ.get("USERPROFILE" if platform == "win32" else "HOME") or os.path.expanduser("~")  # noqa: PTH111  # Path.home() raises where there is none
        if not Path(home).is_absolute():
            return None
        base = str(Path(home, *below))
    return Path(base, "llmcore", "routes")


def files_at(path: Path) -> tuple[Path, ...]:
    """The file itself, or the `*.toml` of a folder by name, hidden ones left out. Raises `ConfigError` for a path where
    nothing is."""
    try:
        return _in(path) if path.is_dir() else (_there(path),)
    except OSError as problem:
        raise ConfigError(f"{path} cannot be read: {problem.strerror}") from None


def _in(folder: Path) -> tuple[Path, ...]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.endswith(".toml") and not entry.name.startswith(".")]
    return tuple([folder / name for name in sorted(names)])


def _there(path: Path) -> Path:
    path.stat()
    return path
