"""Large workloads measured by a run of the engine, as a user's are."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

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


class Asked(NamedTuple):
    """One job: its kernel, element type and implementations."""

    kernel: str
    dtype: Dtype
    stems: Sequence[str]


def recorded(path: Path, *asked: Asked) -> Session:
    """A session of these jobs by one worker, with generated code, without ceilings and good times."""
    assert DEVICE is not None
    runs: list[Run] = []
    for number, (name, dtype, stems) in enumerate(asked, 1):
        kernel = CATALOG.kernel(name)
        assert kernel is not None
        [job] = plan_jobs(
            [kernel],
            device=DEVICE.id,
            dtypes=[dtype],
            size_choices=[SizeChoice("large")],
            stems=stems,
            keeps_code=True,
            first_id=number,
        )
        runs.append(Run(job))
    cache = CeilingCache(print, path.parent / "ceilings")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOFSCOPE_BRIEF", "1")
        # The process of the tests itself may have computed there just before.
        record(path, CATALOG, DEVICE, runs, lambda *_: None, cache, ceilings=Ceilings.LEAVE, may_share=True)
    return load(path)
