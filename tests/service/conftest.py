"""One service that most tests share."""

import pytest

from tests.service.running import running


@pytest.fixture(scope="session")
def service():
    """Return a service with limits so low that tests reach them."""
    with running("--most-bytes", "200000", "--read-seconds", "2", "--waiting", "100", "--most-connections", "60") as started:
        yield started
