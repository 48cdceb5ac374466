"""Processes that interpret Triton, shared by all tests of the kernels."""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from roofscope.tests.kernels import interpreter


@pytest.fixture(scope="session")
def interpreters() -> Iterator[ProcessPoolExecutor]:
    """As many as there are processors, among all of pytest-xdist's processes; for ``interpreter.run``."""
    shared_by = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with interpreter.start(max((os.cpu_count() or 1) // shared_by, 1)) as pool:
        yield pool
