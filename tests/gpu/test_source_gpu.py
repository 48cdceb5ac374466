"""What compilers make and how kernels are launched, on a GPU: each provider's code, and the occupancy."""

from pathlib import Path

import pytest

from roofscope.app.presentation.source.launch import kernels_of
from roofscope.profiling.results.generated import CodeKind
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load_code
from roofscope.tests.gpu.recorded import DEVICE

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles

TRITON = {CodeKind.TTIR, CodeKind.TTGIR, CodeKind.LLIR, CodeKind.PTX, CodeKind.SASS}


@pytest.fixture(scope="module")
def points(compiled: tuple[Session, Path]) -> dict[str, tuple[Measured, set[CodeKind]]]:
    """By implementation of softmax: its outcome, and the kinds of code that are kept with it."""
    session, path = compiled
    of_softmax = [point for point in session.points if point.job.workload.kernel == "softmax"]
    kinds = {
        info.implementation.stem: {code.kind for code in load_code(path, info.number)}
        for info in session.codes
        if info.implementation.kernel == "softmax"
    }
    assert all(point.measured for point in of_softmax), of_softmax
    return {
        point.implementation.stem: (point.measured, kinds.get(point.implementation.stem, set()))
        for point in of_softmax
        if point.measured
    }


@pytest.mark.parametrize(
    ("stem", "kinds"),
    [
        ("triton_online", TRITON),
        ("cuda_registers", {CodeKind.PTX, CodeKind.SASS}),
        ("compile_default", {CodeKind.INDUCTOR, *TRITON}),
    ],
)
def test_each_provider_gives_its_code(
    points: dict[str, tuple[Measured, set[CodeKind]]], stem: str, kinds: set[CodeKind]
) -> None:
    assert points[stem][1] >= kinds


@pytest.mark.parametrize("stem", ["triton_online", "cuda_registers", "compile_default"])
def test_compiler_and_profiler_tell_of_the_same_kernel(
    points: dict[str, tuple[Measured, set[CodeKind]]], stem: str
) -> None:
    assert DEVICE is not None
    kernel = kernels_of(points[stem][0])[0]
    assert kernel.built is not None, kernel.name
    assert kernel.launch is not None
    assert kernel.launch.grid
    assert kernel.launch.block
    assert kernel.built.registers == kernel.launch.registers
    assert kernel.built.spill_bytes is not None  # also behind torch's static launcher
    assert kernel.built.shared_bytes is not None
    found = kernel.occupancy(DEVICE)
    assert found is not None
    assert 0 < found.share <= 1
    if kernel.launch.occupancy is not None:  # Kineto's own estimate, from the same figures
        assert found.share == pytest.approx(kernel.launch.occupancy, abs=0.07)
