"""What tests on a GPU share: a session for which a worker starts once."""

from pathlib import Path

import pytest

from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Session
from roofscope.tests.gpu.recorded import Asked, recorded

COMPILED = (
    Asked("softmax", Dtype.FLOAT32, ("triton_online", "cuda_registers", "compile_default")),
    Asked("matmul", Dtype.BFLOAT16, ("triton_grouped", "eager")),
)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, Path]:
    """A softmax by each provider that keeps its code, and an autotuned product; and their file."""
    path = tmp_path_factory.mktemp("compiled") / "a.roofscope"
    return recorded(path, *COMPILED), path
