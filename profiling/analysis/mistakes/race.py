"""Programs, or elements of one block, that write to one place, or read what another one writes."""

from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case, counted
from roofscope.profiling.results.debugging import Finding, Mistake, Race, StageName


def race(case: Case) -> Iterator[Finding]:
    for one in case.all(Race):
        yield Finding(Mistake.RACE, one.where, _evidence(one), _cure(one), StageName.INTERPRETER)


def _evidence(one: Race) -> str:
    a, b = one.programs
    more = f" ({counted(one.count, 'element')} so)" if one.count > 1 else ""
    place = f"element {one.index} of {one.argument}"
    line = f" on line {one.other.number}" if one.other and one.other.number != one.where.number else ""
    if a == b:
        text = f"Program {a} stores different values to {place} in one tl.store{more}: which stays is chance"
    elif (one.first, one.second) == ("store", "load"):
        text = f"Program {b} reads {place}, which program {a} stores to{line}{more}: their order is chance"
    elif (one.first, one.second) == ("load", "store"):
        text = f"Program {b} stores to {place}, which program {a} reads{more}: their order is chance"
    elif "atomic" in (one.first, one.second):
        text = (
            f"Programs {a} and {b} give {place} a value, one by a store and one by an atomic{line}{more}: "
            "the store undoes the other"
        )
    else:
        text = f"Programs {a} and {b} store different values to {place}{more}: the last one stays"
    return f"{text}."


def _cure(one: Race) -> str:
    if one.programs[0] == one.programs[1]:
        return "Give each element of the block a place of its own: check the offsets."
    if "load" in (one.first, one.second):
        return "Write to another tensor than is read, or make two launches of it: programs run in no order."
    if "atomic" in (one.first, one.second):
        return "Make the tensor with torch.zeros before the launch, and let every program add atomically."
    return "Add with tl.atomic_add onto zeros, or give each program elements of its own and sum them later."
