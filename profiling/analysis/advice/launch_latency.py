"""Much of the device's own time is what empty kernels would take as well.

Threshold: a third of the time (analysis/limiter.py), with the floor that the worker measured by the
headline's own method; of older sessions 1.2 us, an empty kernel's time in a graph on GPUs of 2020 to
2025.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import Cause


class LaunchLatency(Advice, frozen=True, kw_only=True, tag="launch latency"):
    share: float  # of the time
    floor_s: float  # one empty launch
    launches: float  # kernels a call


def launch_latency(case: Case) -> LaunchLatency | None:
    found = case.deciding(Cause.LAUNCHES)
    if found is None or not found.other:
        return None
    spared = max(case.launches - 1, 0.0) * found.other  # one launch must stay
    return LaunchLatency(
        share=found.figure, floor_s=found.other, launches=case.launches, saves_s=spared or None
    )
