"""A call allocates tensors that are neither its inputs nor its outputs: each is written and read.

Evidence: the allocator's peak during a verified call, less inputs and outputs (results/outcome.py,
MemoryUse). Threshold: a tenth of the compulsory bytes. A temporary costs one write and one read at the
copy ceiling, unless the cache keeps it, so that time is the most it saves.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case

_MUCH = 0.1


class ExtraBytes(Advice, frozen=True, kw_only=True, tag="extra bytes"):
    temporary_bytes: int  # alive at once, at most
    compulsory_bytes: int


def extra_bytes(case: Case) -> ExtraBytes | None:
    memory, work, roof = case.measured.memory, case.point.job.work, case.roof
    if memory is None or not case.under_memory or roof is None:
        return None
    if memory.temporary_bytes < _MUCH * work.byte_count:
        return None
    least_s = 2 * memory.temporary_bytes / roof.value
    return ExtraBytes(
        temporary_bytes=memory.temporary_bytes,
        compulsory_bytes=work.byte_count,
        saves_s=min(least_s, case.headroom_s or 0.0),
        is_at_most=True,
    )
