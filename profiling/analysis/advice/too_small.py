"""So little work that its roof allows less time than an empty kernel takes: no code can be near that roof.

Threshold: the launch floor, measured or that of analysis/limiter.py; or a grid that leaves multiprocessors
without a block, which needs no constant. A call of ten floors and more has another cause.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import USUAL_FLOOR_S, longest_kernel

_LONG = 10  # launch floors


class TooSmall(Advice, frozen=True, kw_only=True, tag="too small"):
    least_s: float  # that the roof allows
    floor_s: float  # an empty launch
    blocks: int | None = None  # of the longest kernel, where they are fewer than the multiprocessors
    multiprocessors: int | None = None


def too_small(case: Case) -> TooSmall | None:
    least_s = case.verdict.least_time_s
    if least_s is None or not case.measured.kernels or not case.is_far:
        return None
    floor_s = case.measured.evidence.launch_floor_s or USUAL_FLOOR_S
    kernel, count = longest_kernel(case.measured), case.device.multiprocessor_count if case.device else None
    blocks = kernel.launch.blocks if kernel and kernel.launch else None
    if case.time_s >= _LONG * floor_s:
        return None
    is_sparse = bool(blocks and count and blocks < count)
    if least_s >= floor_s and not is_sparse:
        return None
    return TooSmall(
        least_s=least_s,
        floor_s=floor_s,
        blocks=blocks if is_sparse else None,
        multiprocessors=count if is_sparse else None,
    )
