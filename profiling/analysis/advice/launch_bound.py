"""The host takes longer to launch a call than the device to do it, so a program waits for Python.

Threshold: LAUNCH_BOUND_RATIO of host to device time (analysis/verdict.py). Saved is what a graph of calls
would: NVIDIA's CUDA C++ Programming Guide, "CUDA Graphs"; the headline is timed in one.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Flag


class LaunchBound(Advice, frozen=True, kw_only=True, tag="launch-bound"):
    host_s: float
    device_s: float
    launches: float  # kernels a call
    is_compiled: bool  # by torch.compile, which has a mode that replays graphs


def launch_bound(case: Case) -> LaunchBound | None:
    host_s = case.measured.host_s
    if Flag.LAUNCH_BOUND not in case.verdict.flags or not host_s:
        return None
    return LaunchBound(
        host_s=host_s,
        device_s=case.time_s,
        launches=case.launches,
        is_compiled=case.point.implementation.provider is Provider.COMPILE,
        saves_s=host_s - case.time_s,
        is_wall=True,
    )
