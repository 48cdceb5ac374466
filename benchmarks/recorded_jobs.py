"""Jobs measured into one session file, with a line on stderr for each point."""

import sys
from collections.abc import Sequence
from pathlib import Path

from roofscope.app.presentation.formatting import time_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.session import Point
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import Ceilings, record
from roofscope.profiling.supervision.run_events import RunEvent


def record_jobs(catalog: Catalog, jobs: Sequence[Job], device: Device, path: Path) -> None:
    def watch(_: RunEvent, gained: Gain | None) -> None:
        if isinstance(gained, Point):
            outcome = time_text(gained.measured.time.median_s) if gained.measured else gained.outcome
            print(f"{gained.label}, {gained.job.workload.label}: {outcome}", file=sys.stderr)

    cache = CeilingCache(lambda text: print(text, file=sys.stderr))
    record(path, catalog, device, [Run(job) for job in jobs], watch, cache, ceilings=Ceilings.KEEP)
