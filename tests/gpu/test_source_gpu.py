"""What compilers make and how kernels are launched, on a GPU: each provider's code, and the occupancy."""

import pytest
import torch

from roofscope.app.presentation.source.launch import kernels_of
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.generated import CodeKind
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.supervision.protocol import CodeReady, OutcomeReady
from roofscope.profiling.worker.job.executor import JobExecutor
from roofscope.profiling.worker.job.link import own_process
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.tests.kernels.cases import CATALOG

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, while it compiles

DEVICE = next((device for device in local_devices() if device.id != "cpu"), None)
TRITON = {CodeKind.TTIR, CodeKind.TTGIR, CodeKind.LLIR, CodeKind.PTX, CodeKind.SASS}


@pytest.fixture(scope="module")
def said() -> dict[str, tuple[Measured, set[CodeKind]]]:
    """By implementation of softmax: its outcome, and the kinds of code that came behind it."""
    kernel = CATALOG.kernel("softmax")
    assert kernel is not None
    assert DEVICE is not None
    [job] = plan_jobs(
        [kernel],
        device=DEVICE.id,
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("large")],
        stems=["triton_online", "cuda_registers", "compile_default"],
        keeps_code=True,
    )
    events: list[object] = []
    torch.zeros(1, device=DEVICE.id)  # makes the context that a worker has by then
    with torch.cuda.device(DEVICE.id):
        JobExecutor(job, CATALOG, Instruments(DEVICE), own_process, events.append, lambda: None).run()
    kinds = {
        event.implementation.stem: {code.kind for code in event.codes}
        for event in events
        if isinstance(event, CodeReady)
    }
    outcomes = [event.outcome for event in events if isinstance(event, OutcomeReady)]
    assert all(isinstance(outcome, Measured) for outcome in outcomes), outcomes
    assert outcomes, events
    return {
        event.implementation.stem: (event.outcome, kinds.get(event.implementation.stem, set()))
        for event in events
        if isinstance(event, OutcomeReady) and isinstance(event.outcome, Measured)
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
    said: dict[str, tuple[Measured, set[CodeKind]]], stem: str, kinds: set[CodeKind]
) -> None:
    assert said[stem][1] >= kinds


@pytest.mark.parametrize("stem", ["triton_online", "cuda_registers", "compile_default"])
def test_compiler_and_profiler_tell_of_the_same_kernel(
    said: dict[str, tuple[Measured, set[CodeKind]]], stem: str
) -> None:
    assert DEVICE is not None
    kernel = kernels_of(said[stem][0])[0]
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
