"""A pytest plugin: `pytest -p llmcore.testing.plugin`, or `pytest_plugins = ["llmcore.testing.plugin"]`.

While it is loaded no test may call a model over the network. A test that has to is marked
`@pytest.mark.llm_network`, for any host, or `@pytest.mark.llm_network("api.example.com")`.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from llmcore.testing.network import forbid_network


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "llm_network(*hosts): may call models over the network (at these hosts only)")


@pytest.fixture(autouse=True)
def llm_network_forbidden(request: pytest.FixtureRequest) -> Iterator[None]:
    """Refuses calls that would leave this machine, but for what the test's mark allows."""
    mark = request.node.get_closest_marker("llm_network")
    with ExitStack() as stack:
        if mark is None or mark.args:
            stack.enter_context(forbid_network(allow=tuple(mark.args) if mark is not None else ()))
        yield
