"""Triton takes blocks whose sides are powers of two only."""

from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case
from roofscope.profiling.results.debugging import Finding, Mistake, Raised


def block(case: Case) -> Iterator[Finding]:
    for one in case.all(Raised):
        if "power of 2" in one.text or "power of two" in one.text:
            yield Finding(
                Mistake.BLOCK_NO_POWER_OF_TWO,
                one.where,
                f"Triton refuses the block: {one.text.rstrip('.')}.",
                "Round it up with triton.next_power_of_2(n), and mask what lies beyond n.",
                one.stage,
            )
