"""Debug runs on a GPU: the version as it is compiled, and compute-sanitizer where it is installed."""

from pathlib import Path

import pytest

from roofscope.app.presentation.debugging.running import debugged
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.debug_question import default_sizes
from roofscope.profiling.planning.spec import Workload
from roofscope.profiling.results.debugging import DebugReport, Mistake, StageEnd, StageName
from roofscope.profiling.supervision.debug_run import DebugRequest, compute_sanitizer

pytestmark = pytest.mark.gpu
MISTAKES = Path(__file__).parents[1] / "data" / "mistakes"


def report_of(form: str) -> DebugReport:
    device = default_device(local_devices())
    if device.kind is not DeviceKind.CUDA:
        pytest.skip("needs a GPU")
    (kernel,) = scan([MISTAKES / form]).kernels
    implementation = next(
        one for one in kernel.implementations if kernel.entries[one.stem].call != kernel.spec.formula
    )
    dtype = kernel.spec.dtypes[0]
    workload = Workload(kernel.spec.name, dtype, default_sizes(kernel, implementation, dtype))
    return debugged(DebugRequest(kernel, implementation, workload, device), lambda _said: None)


@pytest.mark.parametrize("name", ["short_sum", "race", "grid_too_small", "not_contiguous"])
def test_a_wrong_result_is_wrong_on_the_device_too(name: str) -> None:
    report = report_of(f"{name}.roofscope.py")

    ends = {stage.name: stage.end for stage in report.stages}
    assert ends[StageName.BUILD] is ends[StageName.CALL] is StageEnd.CLEAN
    assert ends[StageName.COMPARISON] is StageEnd.FOUND


@pytest.mark.parametrize(
    ("form", "mistake", "stage"),
    [
        ("no_guard.cu.roofscope.py", Mistake.OUT_OF_RANGE, StageName.MEMCHECK),
        ("missing_barrier.cu.roofscope.py", Mistake.MISSING_BARRIER, StageName.RACECHECK),
        ("no_mask.roofscope.py", Mistake.OUT_OF_RANGE, StageName.MEMCHECK),
    ],
)
def test_compute_sanitizer_names_the_line(form: str, mistake: Mistake, stage: StageName) -> None:
    if compute_sanitizer() is None:
        pytest.skip("needs compute-sanitizer")
    report = report_of(form)

    found = [one for one in report.findings if one.stage is stage]
    assert [one.mistake for one in found] == [mistake]
    assert found[0].where is not None
    text = (MISTAKES / form.replace(".roofscope.py", "" if ".cu." in form else ".py")).read_text()
    assert "the mistake" in text.splitlines()[found[0].where.number - 1]
