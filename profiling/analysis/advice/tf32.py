"""A float32 product in IEEE precision, where the tensor pipe multiplies in TF32 several times as fast.

A choice and no fault: TF32 keeps 10 bits of the fraction. Threshold: a TF32 ceiling of this device that is
twice the roof at least, and a product near its roof: of one far below, something else costs the most. Saved
is the time less what that ceiling allows.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.planning.spec import Dtype, Pipe
from roofscope.profiling.roofline.roofline import Bound

_WORTH = 2.0


class Tf32(Advice, frozen=True, kw_only=True, tag="tf32"):
    ceiling: float  # FLOP/s in TF32
    times: float  # over the roof of IEEE float32
    allows_s: float


def tf32(case: Case) -> Tf32 | None:
    spec, roof, work = case.spec, case.roof, case.point.job.work
    if spec is None or spec.pipe is not Pipe.TENSOR or roof is None or roof.bound is not Bound.FP32:
        return None
    faster = case.roofline.best(Bound.TF32)
    if case.point.job.workload.dtype is not Dtype.FLOAT32 or faster is None:
        return None
    times = faster.value / roof.value
    allows_s = work.flop_count / faster.value
    if case.is_far or times < _WORTH or allows_s >= case.time_s:
        return None
    return Tf32(
        ceiling=faster.value,
        times=times,
        allows_s=allows_s,
        saves_s=case.time_s - allows_s,
        is_at_most=True,
    )
