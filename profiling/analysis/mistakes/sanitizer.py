"""What compute-sanitizer found, by the names that the other rules use."""

from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case
from roofscope.profiling.results.debugging import Finding, Line, Mistake, Sanitized, StageName

_OF_TOOL = {
    "memcheck": (
        Mistake.OUT_OF_RANGE,
        "Guard it by the size, as in if (i < n), or a mask; a misaligned address needs a narrower type.",
    ),
    "racecheck": (
        Mistake.MISSING_BARRIER,
        "Put __syncthreads() between the two accesses to shared memory, where all threads reach it.",
    ),
    "initcheck": (
        Mistake.UNINITIALISED,
        "Write it before it is read: torch.zeros, cudaMemsetAsync, or a store of the kernel itself.",
    ),
    "synccheck": (
        Mistake.MISSING_BARRIER,
        "Move __syncthreads() out of the branch: all threads of the block must reach the same one.",
    ),
}


def sanitizer(case: Case) -> Iterator[Finding]:
    for one in case.all(Sanitized):
        mistake, cure = _OF_TOOL.get(one.tool, (Mistake.OUT_OF_RANGE, ""))
        where = case.line(one.file, one.line) if one.line else None
        yield Finding(mistake, where, _evidence(one, where), cure, StageName(one.tool))


def _evidence(one: Sanitized, where: Line | None) -> str:
    kernel = f" in {one.kernel}" if one.kernel else ""
    thread = f", thread {one.thread} of block {one.block}" if one.thread else ""
    beyond = f"; {one.beyond}" if one.beyond else ""
    times = f"; {one.count} such" if one.count > 1 else ""
    unknown = "" if where else "; its line is not known"
    return f"{one.text.rstrip('.')}{kernel}{thread}{beyond}{times}{unknown}."
