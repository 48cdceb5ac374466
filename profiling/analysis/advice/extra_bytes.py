"""A call moves bytes that it need not: it reads some again, or allocates tensors that are neither in nor out.

Evidence: counted bytes of DRAM (results/counters.py) where there are any; threshold: 1.2 times the compulsory
ones, above what prefetches and halves of lines explain. They are proof: what is over costs its time at the
roof. Else the allocator's peak during a verified call, less inputs and outputs (results/outcome.py,
MemoryUse); threshold: a tenth of the compulsory bytes. A temporary costs one write and one read at the copy
ceiling, unless the cache keeps it, so that time is the most it saves.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.traffic import MUCH_MORE

_MUCH = 0.1


class ExtraBytes(Advice, frozen=True, kw_only=True, tag="extra bytes"):
    temporary_bytes: int  # alive at once, at most; 0 where the allocator was not asked
    compulsory_bytes: int
    counted_bytes: float | None = None  # of DRAM; None where nothing was counted


def extra_bytes(case: Case) -> ExtraBytes | None:
    memory, work, roof = case.measured.memory, case.point.job.work, case.roof
    if not case.under_memory or roof is None:
        return None
    temporary = memory.temporary_bytes if memory else 0
    counted = case.counters.dram_bytes if case.counters else None
    if counted is not None:
        if not work.byte_count or counted < MUCH_MORE * work.byte_count:
            return None
        over = counted - work.byte_count
    elif temporary and temporary >= _MUCH * work.byte_count:
        over = 2 * temporary
    else:
        return None
    return ExtraBytes(
        temporary_bytes=temporary,
        compulsory_bytes=work.byte_count,
        counted_bytes=counted,
        saves_s=min(over / roof.value, case.headroom_s or 0.0),
        is_at_most=True,
    )
