"""The same code at the same sizes takes as long with half the bytes: bytes do not set its time.

Evidence: the same implementation, from the same files, in another element type of the same session.
Thresholds: times within 5 %, several times the interval of a quick run; bytes at least 1.5 times.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.planning.spec import Dtype

_ALIKE = 0.05
_FEWER = 1.5


class NotBytes(Advice, frozen=True, kw_only=True, tag="not its bytes"):
    dtype: Dtype  # the other one
    other_s: float
    byte_count: int  # of that one's call


def not_bytes(case: Case) -> NotBytes | None:
    if not (case.under_memory and case.is_far):
        return None
    mine = case.point.job.work.byte_count
    for other in case.at_other_types:
        measured, byte_count = other.measured, other.job.work.byte_count
        if measured is None or not mine or not byte_count:
            continue
        ratio = max(mine, byte_count) / min(mine, byte_count)
        if ratio >= _FEWER and abs(measured.time.median_s / case.time_s - 1) <= _ALIKE:
            return NotBytes(
                byte_count=byte_count,
                dtype=other.job.workload.dtype,
                other_s=measured.time.median_s,
                saves_s=case.headroom_s,
                is_at_most=True,
            )
    return None
