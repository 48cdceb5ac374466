"""The last wave of blocks leaves multiprocessors idle.

Threshold: three quarters of the multiprocessors' time with blocks (analysis/limiter.py). Saved is the
idle share of the time, if all blocks take equally long. NVIDIA's "Matrix Multiplication Background User's
Guide", "Wave Quantization".
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import Cause


class PartialWaves(Advice, frozen=True, kw_only=True, tag="partial waves"):
    busy_share: float
    blocks: float
    multiprocessors: int | None


def partial_waves(case: Case) -> PartialWaves | None:
    found = case.deciding(Cause.WAVES)
    if found is None or found.other is None or not case.is_far:
        return None
    return PartialWaves(
        busy_share=found.figure,
        blocks=found.other,
        multiprocessors=case.device.multiprocessor_count if case.device else None,
        saves_s=min((1 - found.figure) * case.time_s, case.headroom_s or 0.0),
        is_at_most=True,
    )
