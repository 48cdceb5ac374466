"""One long kernel under a memory's roof that moves its bytes slowly: more bytes than compulsory, or waits.

Counted bytes (results/counters.py) tell bytes fetched twice or in part from bytes waited for, and only they.
Thresholds: below NEAR_ROOF, ten launch floors long, so that a launch explains none of it, and no double
arithmetic, spill or second kernel that would. CUDA C++ Best Practices Guide, "Coalesced Access to Global
Memory".
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.advice.doubles import doubles
from roofscope.profiling.analysis.advice.not_bytes import not_bytes
from roofscope.profiling.analysis.limiter import USUAL_FLOOR_S, Cause
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.providers import Family
from roofscope.profiling.results.counters import Level
from roofscope.profiling.results.outcome import Flag

_LONG = 10  # launch floors
_SEVERAL = 1.5
_UNSURE = frozenset((Flag.UNSTABLE, Flag.PREEMPTED))


class Access(Advice, frozen=True, kw_only=True, tag="access"):
    bandwidth: float  # B/s
    ceiling: float  # B/s
    times: float  # bytes that the memory could have moved, over the compulsory ones
    is_gpu: bool
    is_proven: bool  # its time was seen not to follow the clock, so the cores do not bind it
    is_editable: bool = True  # False: PyTorch's own kernel, or what its compiler made
    dram_times: float | None = None  # counted bytes of DRAM over the compulsory ones; None: not counted
    l2_times: float | None = None


def access(case: Case) -> Access | None:
    floor_s = case.measured.evidence.launch_floor_s or USUAL_FLOOR_S
    bandwidth, roof = case.point.achieved_bandwidth, case.roof
    if not (case.under_memory and case.is_far) or roof is None or not bandwidth:
        return None
    if _UNSURE & set(case.verdict.flags):  # other work may have taken the time
        return None
    if case.launches > _SEVERAL or case.time_s < _LONG * floor_s:
        return None
    other = (Cause.SPILLS, Cause.WAVES, Cause.CORE, Cause.MIX, Cause.AS_HOT)
    if any(map(case.deciding, other)) or doubles(case) or not_bytes(case):
        return None
    work, counters = case.point.job.work, case.counters

    def times(level: Level) -> float | None:
        counted = counters.bytes_at(level) if counters else None
        return counted / work.byte_count if counted is not None and work.byte_count else None

    return Access(
        bandwidth=bandwidth,
        ceiling=roof.value,
        times=roof.value / bandwidth,
        is_gpu=case.device is None or case.device.kind is DeviceKind.CUDA,
        is_proven=case.deciding(Cause.NOT_CORE) is not None or case.deciding(Cause.COLD) is not None,
        is_editable=case.point.implementation.provider.facts.family is not Family.PYTORCH,
        dram_times=times(Level.DRAM),
        l2_times=times(Level.L2),
        saves_s=case.headroom_s,
        is_at_most=True,
    )
