"""Jobs measured into one session file, with a line on stderr for each point."""

import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from roofscope.app.presentation.formatting import time_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.session import Point
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.headless import Stoppable
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import Ceilings, Ending, record
from roofscope.profiling.supervision.run_events import RunEvent


class StopBetweenJobs:
    """Stops a run once its time is over and the job under way has its last outcome.

    A job that has just begun behind it ends in cancelled outcomes, so who goes on later measures it again.
    """

    def __init__(
        self, jobs: Sequence[Job], seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._left = {job.id: len(job.implementations) for job in jobs}
        self._now = now
        self._until = now() + seconds
        self._run: Stoppable | None = None

    def started(self, run: Stoppable) -> None:
        self._run = run

    def saw(self, point: Point) -> None:
        self._left[point.job.id] -= 1
        if self._left[point.job.id] == 0 and self._now() > self._until and self._run:
            self._run.press_stop()


def record_jobs(
    catalog: Catalog,
    jobs: Sequence[Job],
    device: Device,
    path: Path,
    *,
    append: bool = False,
    seconds: float = math.inf,
    ceilings: Ceilings = Ceilings.KEEP,
) -> Ending:
    """None is begun after so many ``seconds``. Raises SessionError."""
    stop = StopBetweenJobs(jobs, seconds)

    def watch(_: RunEvent, gained: Gain | None) -> None:
        if isinstance(gained, Point):
            outcome = time_text(gained.measured.time.median_s) if gained.measured else gained.outcome
            print(f"{gained.label}, {gained.job.workload.label}: {outcome}", file=sys.stderr)
            stop.saw(gained)

    cache = CeilingCache(lambda text: print(text, file=sys.stderr))
    runs = [Run(job) for job in jobs]
    return record(
        path, catalog, device, runs, watch, cache, ceilings=ceilings, append=append, on_start=stop.started
    )
