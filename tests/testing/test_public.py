"""The package without its extra, and the library without the package."""

import subprocess
import sys
from pathlib import Path

import llmcore

HOME = {"PYTHONPATH": str(Path(llmcore.__path__[0]).parent), "PYTHONDONTWRITEBYTECODE": "1"}

WITHOUT = """
import sys
sys.modules["hypothesis"] = None
import llmcore
from llmcore.testing import ScriptedModel
with ScriptedModel(["Hello"]) as scripted:
    assert llmcore.generate(scripted.model(), "Hi").text == "Hello"
try:
    from llmcore.testing import check_protocol
except llmcore.ConfigError as error:
    assert 'pip install "llmcore[testing]"' in str(error)
else:
    raise AssertionError("it was found")
"""

UNUSED = """
import sys
import llmcore
llmcore.Client().close()
llmcore.model("openai/chat:gpt-5-mini")
import llmcore.transport.http
assert not [name for name in sys.modules if name.startswith(("llmcore.testing", "hypothesis", "pytest"))]
"""


def ran(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=folder, env=HOME, capture_output=True, text=True, check=False)


def test_the_scripted_model_needs_no_hypothesis_and_the_checks_say_so(tmp_path: Path) -> None:
    done = ran(WITHOUT, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_library_imports_nothing_of_it(tmp_path: Path) -> None:
    done = ran(UNUSED, tmp_path)
    assert done.returncode == 0, done.stderr


def test_every_name_is_there() -> None:
    import llmcore.testing as testing

    for name in testing.__all__:
        assert getattr(testing, name) is not None
        assert name in dir(testing)
    assert not hasattr(testing, "no_such_name")
