"""Large workloads measured by a run of the engine, as a user's are."""

from collections.abc import Sequence
from pathlib import Path

from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recording import Ceilings, record
from roofscope.tests.kernels.cases import CATALOG

DEVICE = next((device for device in local_devices() if device.id != "cpu"), None)


def recorded(path: Path, *, kernel: str, dtype: Dtype, stems: Sequence[str]) -> Session:
    """A session of one job, with generated code and without ceilings."""
    found = CATALOG.kernel(kernel)
    assert found is not None
    assert DEVICE is not None
    [job] = plan_jobs(
        [found],
        device=DEVICE.id,
        dtypes=[dtype],
        size_choices=[SizeChoice("large")],
        stems=stems,
        keeps_code=True,
    )
    cache = CeilingCache(print, path.parent / "ceilings")
    record(path, CATALOG, DEVICE, [Run(job)], lambda *_: None, cache, ceilings=Ceilings.LEAVE)
    return load(path)
