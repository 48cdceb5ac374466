"""Debug runs on a GPU: the version as it is compiled, and compute-sanitizer where it is installed."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from roofscope.app.presentation.debugging.running import debugged
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.device_lock import lock_device
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.debug_question import default_sizes
from roofscope.profiling.planning.spec import Workload
from roofscope.profiling.results.debugging import DebugReport, Mistake, StageEnd, StageName
from roofscope.profiling.supervision.debug_run import DebugRequest, compute_sanitizer

pytestmark = pytest.mark.gpu
MISTAKES = Path(__file__).parents[1] / "data" / "mistakes"


WRONG = ("short_sum", "race", "grid_too_small", "not_contiguous")
SANITIZED = (
    ("no_guard.cu", Mistake.OUT_OF_RANGE, StageName.MEMCHECK),
    ("missing_barrier.cu", Mistake.MISSING_BARRIER, StageName.RACECHECK),
    ("no_mask", Mistake.OUT_OF_RANGE, StageName.MEMCHECK),
)


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest) -> dict[str, DebugReport]:
    """By name, of the tests that are run. They wait for children most of the time: all at once."""
    device = default_device(local_devices())
    if device.kind is not DeviceKind.CUDA:
        pytest.skip("needs a GPU")
    names = [name for name in _all_names() if any(f"[{name}]" in item.name for item in request.session.items)]
    with lock_device(device.uuid, device.name), ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(partial(_report, device=device), names), strict=True))


def _all_names() -> list[str]:
    return [*WRONG, *(name for name, *_ in SANITIZED)]


def _report(name: str, device: Device) -> DebugReport:
    (kernel,) = scan([MISTAKES / f"{name}.roofscope.py"]).kernels
    implementation = next(
        one for one in kernel.implementations if kernel.entries[one.stem].call != kernel.spec.formula
    )
    dtype = kernel.spec.dtypes[0]
    workload = Workload(kernel.spec.name, dtype, default_sizes(kernel, implementation, dtype))
    asked = DebugRequest(kernel, implementation, workload, device, takes_lock=False)
    return debugged(asked, lambda _said: None)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_result_is_wrong_on_the_device_too(reports: dict[str, DebugReport], name: str) -> None:
    ends = {stage.name: stage.end for stage in reports[name].stages}
    assert ends[StageName.BUILD] is ends[StageName.CALL] is StageEnd.CLEAN
    assert ends[StageName.COMPARISON] is StageEnd.FOUND


@pytest.mark.skipif(compute_sanitizer() is None, reason="needs compute-sanitizer")
@pytest.mark.parametrize(("name", "mistake", "stage"), SANITIZED, ids=[name for name, *_ in SANITIZED])
def test_compute_sanitizer_names_the_line(
    reports: dict[str, DebugReport], name: str, mistake: Mistake, stage: StageName
) -> None:
    found = [one for one in reports[name].findings if one.stage is stage]
    assert [one.mistake for one in found] == [mistake]
    assert found[0].where is not None
    text = (MISTAKES / (name if name.endswith(".cu") else f"{name}.py")).read_text()
    assert "the mistake" in text.splitlines()[found[0].where.number - 1]
