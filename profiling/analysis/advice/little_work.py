"""So many blocks that starting them and waiting once in each is all they do.

Evidence: the launch that the profiler recorded and the compulsory bytes. Threshold: more threads than the
device holds at once, with less than a byte and 16 FLOPs each (analysis/limiter.py). A Triton program of one
element has 128 threads that compute the same. CUDA C++ Best Practices Guide, "Thread and Block Heuristics".
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import Cause, longest_kernel
from roofscope.profiling.planning.spec import Provider


class LittleWork(Advice, frozen=True, kw_only=True, tag="little work"):
    blocks: float
    threads: int  # a block
    bytes_a_block: float
    is_triton: bool


def little_work(case: Case) -> LittleWork | None:
    found, kernel = case.deciding(Cause.LITTLE_WORK), longest_kernel(case.measured)
    if found is None or found.other is None or kernel is None or kernel.launch is None or not case.is_far:
        return None
    return LittleWork(
        blocks=found.other,
        threads=kernel.launch.threads,
        bytes_a_block=found.figure,
        is_triton=case.point.implementation.provider is Provider.TRITON,
        saves_s=case.headroom_s,
        is_at_most=True,
    )
