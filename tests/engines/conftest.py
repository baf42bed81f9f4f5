"""Sessions of Spark for the tests that need both kinds of them."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def sessions():
    from tests.engines.spark_rows import start_with_connect  # skips without Spark

    classic, remote = start_with_connect()
    yield {"classic": classic, "connect": remote}
    remote.stop()
    classic.stop()


@pytest.fixture(params=["classic", "connect"])
def spark(request, sessions):
    return sessions[request.param]


@pytest.fixture
def classic(sessions):
    return sessions["classic"]
