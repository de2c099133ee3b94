"""What all tests share: a Hypothesis profile (time is no part of a test here, neither a deadline nor a slow start), and
nothing of the route files of whoever runs them.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("llmcore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("llmcore")


@pytest.fixture(autouse=True, scope="session")
def no_route_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The suite does not read the routes of the user who runs it."""
    os.environ["LLMCORE_CONFIG"] = str(tmp_path_factory.mktemp("routes"))
