"""An outcome is written into the pipe on which the engine reports; no work is done.

source: https://github.com/gpu-mode/pygpubench/issues/23
needs: cpu
workload: doubled
right: tampered, wrong values, worker lost
says: pipe, descriptor
"""

import contextlib
import gc
import os
from pathlib import Path

import torch

from roofscope.profiling.results.outcome import (
    BuildInfo,
    Evidence,
    Measured,
    Method,
    TimeStats,
    Verification,
)
from roofscope.profiling.supervision.protocol import OutcomeReady, encode


def _forge() -> None:
    time = TimeStats(1e-9, 1e-9, 1e-9, (1e-9,) * 9, 1, tuple(range(9)))
    outcome = Measured(time, Method.WALL_CLOCK, "", Verification(0, 0, 1, 2), BuildInfo(0), Evidence())
    jobs = [found._job for found in gc.get_objects() if type(found).__name__ == "JobExecutor"]
    for job in jobs:
        for file in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                if int(file.name) > 2 and str(file.readlink()).startswith("pipe:"):
                    os.write(int(file.name), encode(OutcomeReady(job.id, job.implementations[0], outcome)))


def run(x: torch.Tensor) -> torch.Tensor:
    with contextlib.suppress(TypeError, AttributeError):
        _forge()
    return torch.zeros_like(x)
