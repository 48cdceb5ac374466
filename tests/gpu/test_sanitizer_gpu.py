"""compute-sanitizer finds no stray access and no race in any CUDA C++ kernel at its odd sizes.

What racecheck sees was asked of version 2025.3.1 on an H200, by kernels of a few lines that lack an order.

- Loads, stores and ldmatrix, cp.async and bulk copies into shared memory. Not what copies by tensor maps,
  wgmma, stmatrix and bulk copies out of shared memory touch: of a tile that nothing else reads or writes, a
  clean log says nothing.
- bar.sync and bar.arrive order the accesses of all that take part. But groups of warps that have met among
  themselves unequally often confuse it. A race between them is not reported until the block meets; and
  behind that is reported what one has written and the other reads, though the block has met once more in
  between. So row groups meet equally often here alone: meet_as_often of shared/norm_backward.cuh.
- An mbarrier orders those of threads that arrive before those of threads that wait, each for itself. Where
  one lane arrives for its warp, or a thread for its warpgroup, behind __syncwarp or bar.sync, the accesses
  of the others are reported as races, and are none. In cuda_wgmma of attention_backward and cuda_halves of
  matmul_fp8_blocks every reader arrives, which took no time; elsewhere every lane does here alone, by the
  macro SANITIZED of shared/hopper.cuh. So nobody watches that __syncwarp stands before the one lane's
  arrival.
- mbarrier.init is an instruction of the warp. Where a predicate leaves it to a lane, rather than a branch,
  it is taken for another lane's: the same lane's arrival is a warning unless __syncwarp stands between.
"""

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
