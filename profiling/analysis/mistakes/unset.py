"""Memory that is read before anything was written to it, such as torch.empty that is used as zeros."""

from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case, counted, program_text
from roofscope.profiling.results.debugging import AccessKind, Finding, Mistake, StageName, Unset


def unset(case: Case) -> Iterator[Finding]:
    for one in case.all(Unset):
        verb = "adds to" if one.kind is AccessKind.ATOMIC else "reads"
        made = f", which line {one.made.number} makes without contents" if one.made else ""
        yield Finding(
            Mistake.UNINITIALISED,
            one.where,
            f"It {verb} {counted(one.count, 'element')} of {one.argument}{made}, before anything is written "
            f"there: first index {one.index} in {program_text(one.program)}.",
            "Make it with torch.zeros, or torch.zeros_like.",
            StageName.INTERPRETER,
        )
