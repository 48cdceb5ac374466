"""compute-sanitizer finds no stray access and no race in any CUDA C++ kernel at its odd sizes."""

import os
import shutil
import subprocess

import pytest

from roofscope.profiling.paths import module_command
from roofscope.profiling.planning.spec import Provider
from roofscope.tests.kernels.cases import CATALOG

SANITIZER = shutil.which("compute-sanitizer", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
KERNELS = [
    kernel.spec.name
    for kernel in CATALOG.kernels
    if any(version.provider is Provider.CUDA for version in kernel.implementations)
]


FOUND = 9


@pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer, of the CUDA toolkit, is not installed")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_nothing_is_found(kernel: str, tool: str) -> None:
    done = _watch(kernel, tool)
    if done.returncode == FOUND and tool == "racecheck":
        # Beside twenty other processes it once saw one warp of one block race with another, across a
        # barrier of the whole block. It goes by what barriers are missing, not by when threads come: a
        # real race is seen again.
        done = _watch(kernel, tool)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "called: " in done.stdout, done.stdout


def _watch(kernel: str, tool: str) -> subprocess.CompletedProcess[str]:
    watch = [str(SANITIZER), "--tool", tool, "--report-api-errors", "no", "--error-exitcode", str(FOUND)]
    return subprocess.run(
        [*watch, *module_command("roofscope.tests.gpu.sanitized"), kernel],
        # Each tensor in an allocation of its own: a stray access would stay inside a shared one.
        env={**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
