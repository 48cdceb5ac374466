"""Registers that do not suffice are kept in local memory, which lies behind L1.

Threshold: 32 B a thread (analysis/limiter.py); the compiler reports what it spilled. CUDA C++ Best
Practices Guide, "Register Pressure" and "Local Memory". What they cost is not recorded: L1 may hide them.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import Cause
from roofscope.profiling.planning.spec import Provider


class Spills(Advice, frozen=True, kw_only=True, tag="spills"):
    spilled_bytes: float  # a thread
    registers: int | None
    is_triton: bool


def spills(case: Case) -> Spills | None:
    found = case.deciding(Cause.SPILLS)
    if found is None:
        return None
    return Spills(
        spilled_bytes=found.figure,
        registers=case.measured.build.registers,
        is_triton=case.point.implementation.provider is Provider.TRITON,
    )
