"""Too few threads on a multiprocessor to hide the wait for memory.

Evidence: the occupancy that the profiler gives the longest kernel; where it does not say, the most that
the compiler's register count allows, 65536 registers a multiprocessor (CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability"). Threshold: a quarter, and far from a memory's roof:
with less, Volkov's "Better performance at lower occupancy" (GTC 2010) needs several loads in flight a
thread; arithmetic does with little, so a compute roof never fires this.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import longest_kernel, most_threads
from roofscope.profiling.analysis.occupancy import REGISTERS, WARP

_LOW = 0.25


class Occupancy(Advice, frozen=True, kw_only=True, tag="occupancy"):
    occupancy: float  # 0 to 1
    registers: int | None  # a thread
    shared_bytes: int | None  # a block
    is_bound: bool  # by registers alone; the profiler did not say


def occupancy(case: Case) -> Occupancy | None:
    if not (case.under_memory and case.is_far) or case.device is None:
        return None
    build, kernel = case.measured.build, longest_kernel(case.measured)
    launch = kernel.launch if kernel else None
    registers = launch.registers if launch and launch.registers else build.registers
    found, is_bound = (launch.occupancy if launch else None), False
    if found is None and registers:
        threads = REGISTERS // registers // WARP * WARP
        found, is_bound = min(threads / most_threads(case.device), 1.0), True
    if found is None or found > _LOW:
        return None
    return Occupancy(
        occupancy=found,
        registers=registers,
        shared_bytes=launch.shared_bytes if launch else build.shared_bytes,
        is_bound=is_bound,
    )
