"""One real Slurm for the tests that need it; where none can be started they are skipped and say what is missing."""

import pytest

from tests.adapters.slurm.real import RealSlurm, missing


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    reason = missing()
    if reason:
        pytest.skip(reason)
    real = RealSlurm(tmp_path_factory.mktemp("slurm"))
    try:
        real.start()
        yield real
    finally:
        real.stop()
