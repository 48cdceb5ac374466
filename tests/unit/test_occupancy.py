"""Occupancy against NVIDIA's own calculator, compiled from its header, and worked examples."""

import itertools
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.profiling.analysis.limiter import most_threads
from roofscope.profiling.analysis.occupancy import Cause, Occupancy, in_grid, limits_of, occupancy
from roofscope.tests.sessions import DEVICE

CAPABILITIES = (
    *((7, 0), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0)),
    *((10, 0), (10, 3), (11, 0), (12, 0), (12, 1)),
)
THREADS = (1, 32, 33, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
REGISTERS = (16, 24, 32, 33, 40, 48, 64, 65, 96, 128, 168, 255)
SHARED = (0, 1000, 4096, 16384, 33000, 49152, 50000, 65536)

CALCULATOR = r"""
#include <cstdio>
#include <climits>
#include "cuda_occupancy.h"
int main() {
    int major, minor, warps, most_shared, reserved, threads, registers, shared;
    while (scanf("%d %d %d %d %d %d %d %d", &major, &minor, &warps, &most_shared, &reserved, &threads,
                 &registers, &shared) == 8) {
        cudaOccDeviceProp device;
        device.computeMajor = major; device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024; device.maxThreadsPerMultiprocessor = warps * 32;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536;
        device.warpSize = 32; device.numSms = 100;
        device.sharedMemPerBlock = 49152; device.sharedMemPerMultiprocessor = most_shared;
        device.sharedMemPerBlockOptin = most_shared - reserved; device.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024; kernel.numRegs = registers; kernel.sharedSizeBytes = 0;
        kernel.maxDynamicSharedSizeBytes = shared; kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        cudaOccDeviceState state;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        cudaOccResult result;
        cudaOccError error =
            cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, shared);
        printf("%d\n", error ? -1 : result.activeBlocksPerMultiprocessor);
    }
}
"""


@pytest.fixture(scope="module")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NVIDIA's calculator as a program; Triton's wheel brings the header."""
    spec, compiler = find_spec("triton"), shutil.which("g++")
    folder = Path(next(iter(spec.submodule_search_locations or []))) if spec else None
    header = folder / "backends" / "nvidia" / "include" / "cuda_occupancy.h" if folder else None
    if not (compiler and header and header.exists()):
        pytest.skip("needs g++ and the header cuda_occupancy.h of Triton's wheel")
    made = tmp_path_factory.mktemp("occupancy")
    (made / "calculator.cpp").write_text(CALCULATOR)
    command = [compiler, "-w", f"-I{header.parent}", "-o", made / "calculator", made / "calculator.cpp"]
    subprocess.run(command, check=True)
    return made / "calculator"


def test_it_agrees_with_nvidias_calculator(calculator: Path) -> None:
    cases = list(itertools.product(CAPABILITIES, THREADS, REGISTERS, SHARED))
    lines: list[str] = []
    for capability, threads, registers, shared in cases:
        limits = limits_of(capability)
        assert limits is not None
        known = (limits.warps, limits.shared_bytes, limits.reserved_bytes)
        lines.append(" ".join(map(str, (*capability, *known, threads, registers, shared))))
    asked = subprocess.run([calculator], input="\n".join(lines), capture_output=True, text=True, check=True)
    theirs = list(map(int, asked.stdout.split()))
    assert len(theirs) == len(cases)
    assert max(theirs) > 16
    wrong: list[object] = []
    for case, blocks in zip(cases, theirs, strict=True):
        found = occupancy(*case)
        if (found.blocks if found else 0) != blocks:
            wrong.append((case, blocks, found))
    assert not wrong, (len(wrong), wrong[:5])


def test_registers_limit_a_kernel_of_168_of_them() -> None:
    """A matrix product on an H200: 384 threads of 168 registers, 12 warps of 5376: one block, 19 %."""
    found = occupancy((9, 0), 384, 168, 200_000)
    assert found == Occupancy(1, 12, 64, (Cause.REGISTERS, Cause.SHARED_MEMORY))
    assert found.share == pytest.approx(0.1875)


def test_a_small_kernel_fills_the_warps() -> None:
    assert occupancy((9, 0), 256, 32, 0) == Occupancy(8, 64, 64, (Cause.REGISTERS, Cause.WARPS))
    assert occupancy((9, 0), 256, 16, 0) == Occupancy(8, 64, 64, (Cause.WARPS,))


def test_blocks_of_one_warp_are_limited_by_their_number() -> None:
    assert occupancy((8, 9), 32, 16, 0) == Occupancy(24, 24, 48, (Cause.BLOCKS,))


def test_what_cannot_be_launched_has_none() -> None:
    assert occupancy((9, 0), 1024, 128, 0) is None
    assert occupancy((9, 0), 2048, 16, 0) is None
    assert occupancy((8, 6), 128, 32, 120_000) is None
    assert occupancy(None, 128, 32, 0) is None
    assert occupancy((3, 0), 128, 32, 0) is None


def test_a_grid_that_is_too_small_is_the_limit() -> None:
    fits = occupancy((9, 0), 128, 32, 0)
    assert fits is not None
    assert in_grid(fits, 132, 132) == Occupancy(1, 4, 64, (Cause.GRID,))
    assert in_grid(fits, 10**6, 132) == fits
    assert in_grid(fits, 5, None) == fits


@pytest.mark.parametrize(
    ("capability", "threads"),
    [((7, 5), 1024), ((8, 0), 2048), ((8, 7), 1536), ((9, 0), 2048), ((11, 0), 1536), ((99, 0), 2048)],
)
def test_threads_of_a_multiprocessor_are_those_of_the_same_table(
    capability: tuple[int, int], threads: int
) -> None:
    assert most_threads(replace(DEVICE, compute_capability=capability)) == threads
