"""A working worker on its twin."""

import pytest

from tests.unit.working.worker import Worker


@pytest.fixture
def worker():
    return Worker()
