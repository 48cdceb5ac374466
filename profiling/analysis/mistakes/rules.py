"""All rules, and what they say of one debug run: causes first, and what no rule explains last."""

from collections.abc import Mapping, Sequence

from roofscope.profiling.analysis.mistakes.access import access
from roofscope.profiling.analysis.mistakes.block import block
from roofscope.profiling.analysis.mistakes.case import Case
from roofscope.profiling.analysis.mistakes.element_type import element_type
from roofscope.profiling.analysis.mistakes.memory_of_host import memory_of_host
from roofscope.profiling.analysis.mistakes.overflow import overflow
from roofscope.profiling.analysis.mistakes.race import race
from roofscope.profiling.analysis.mistakes.sanitizer import sanitizer
from roofscope.profiling.analysis.mistakes.stream import stream
from roofscope.profiling.analysis.mistakes.strides import strides
from roofscope.profiling.analysis.mistakes.unset import unset
from roofscope.profiling.analysis.mistakes.unwritten import unwritten
from roofscope.profiling.analysis.mistakes.whole import changed, factor, unexplained
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.debugging import Finding, Seen

_RULES = (
    block,
    memory_of_host,
    overflow,
    access,
    unset,
    race,
    unwritten,
    strides,
    element_type,
    sanitizer,
    changed,
    stream,
)


def mistakes_of(
    implementation: Implementation, seen: Sequence[Seen], sources: Mapping[str, str]
) -> tuple[Finding, ...]:
    """One finding for a mistake at a line. ``sources`` are the implementation's own files, by path."""
    case = Case(implementation, seen, sources)
    found: dict[tuple[object, ...], Finding] = {}
    for rule in _RULES:
        for one in rule(case):
            found.setdefault((one.mistake, one.where or one.evidence), one)
    if not found:
        found = {(one.mistake, one.evidence): one for one in factor(case)}
    for one in unexplained(case, list(found.values())):
        found.setdefault((one.mistake, one.where or one.evidence), one)
    return tuple(found.values())
