"""Indices of more than 31 bits: a product of sizes that int32 does not hold."""

from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case, program_text
from roofscope.profiling.results.debugging import Finding, Mistake, OutOfRange, Overflow, StageName


def overflow(case: Case) -> Iterator[Finding]:
    """Only where something is wrong: a hash may overflow on purpose."""
    if not (case.all(OutOfRange) or case.wrong):
        return
    for one in case.all(Overflow):
        yield Finding(
            Mistake.INDEX_OVERFLOW,
            one.where,
            f"The int32 {one.operation} comes to {one.value} in {program_text(one.program)} of {one.kernel}, "
            "which 31 bits do not hold.",
            "Widen before it is multiplied: tl.program_id(0).to(tl.int64); in C++ an index of long long.",
            StageName.INTERPRETER,
        )
