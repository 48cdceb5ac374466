"""Elements beyond a tensor: no mask, a mask that is too wide, or programs that have nothing to do."""

from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case, counted, program_text
from roofscope.profiling.analysis.mistakes.strides import is_exchanged
from roofscope.profiling.results.debugging import (
    AccessKind,
    Finding,
    Launched,
    Mistake,
    OutOfRange,
    StageName,
)

_VERBS = {AccessKind.LOAD: "reads", AccessKind.STORE: "writes", AccessKind.ATOMIC: "adds to"}
_CALLS = {
    AccessKind.LOAD: "tl.load(p + i, mask=i < n, other=0.0)",
    AccessKind.STORE: "tl.store(p + i, v, mask=i < n)",
    AccessKind.ATOMIC: "tl.atomic_add(p + i, v, mask=i < n)",
}


def access(case: Case) -> Iterator[Finding]:
    for one in case.all(OutOfRange):
        if case.overflows(one.kernel) or is_exchanged(case, one):  # which have findings of their own
            continue
        launch = next((seen for seen in case.all(Launched) if seen.kernel == one.kernel), None)
        mistake, cure = _named(one)
        yield Finding(
            mistake,
            launch.where if mistake is Mistake.GRID_TOO_LARGE and launch else one.where,
            _evidence(one),
            cure,
            StageName.INTERPRETER,
        )


def _named(one: OutOfRange) -> tuple[Mistake, str]:
    if one.lowest < 0:
        return (
            Mistake.OUT_OF_RANGE,
            "Check how the offset is made: it is negative for some programs.",
        )
    is_idle = one.idle_programs == one.programs
    if one.has_mask:
        return (
            Mistake.WRONG_MASK,
            "Compare the offset that is added to the pointer with this tensor's size, in each dimension.",
        )
    if is_idle:
        return (
            Mistake.GRID_TOO_LARGE,
            f"Launch triton.cdiv(n, BLOCK) programs, and mask what is left over: {_CALLS[one.kind]}.",
        )
    return Mistake.NO_MASK, f"Give it a mask: {_CALLS[one.kind]}."


def _evidence(one: OutOfRange) -> str:
    name = one.argument or "a tensor"
    where = "past the end of" if one.lowest >= 0 else "before the start of"
    verb = _VERBS[one.kind]
    count = counted(one.count, "element")
    mask = "its mask lets them through" if one.has_mask else "there is no mask"
    first = f"{program_text(one.program)}, element {one.lane} of its block, is at index {one.index}"
    text = f"It {verb} {count} {where} {name}, which has {one.size}: {first}; {mask}."
    if one.idle_programs == one.programs and not one.has_mask and one.lowest >= 0:
        have = "has" if one.programs == 1 else "have"
        idle = f"{counted(one.programs, 'program')} of {one.kernel} {have} nothing to do"
        line = f"line {one.where.number} {verb} {count} past the end of {name}, which has {one.size}"
        text = f"{idle}: {line}; {mask}."
    return text
