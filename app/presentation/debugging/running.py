"""Carries a debug run out and says what it makes of what was seen, for both faces."""

from collections.abc import Callable

from roofscope.profiling.analysis.mistakes.rules import mistakes_of
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.debugging import (
    Compared,
    DebugReport,
    DebugStage,
    Said,
    StageEnd,
    StageName,
)
from roofscope.profiling.supervision.debug_run import DebugRequest, DebugRun, sources_of


def debugged(
    request: DebugRequest, hear: Callable[[Said], None], is_stopped: Callable[[], bool] = lambda: False
) -> DebugReport:
    """Run every stage that can be run here; ``hear`` gets each as it begins and ends."""
    implementation = request.implementation
    sources = sources_of(request.kernel, implementation)
    read: list[DebugStage] = []
    if implementation.provider is Provider.CUDA_EXT:  # so far the only one with a rule that needs no run
        found = mistakes_of(implementation, (), sources)
        text = "A launch names no stream." if found else "Each launch names its stream."
        read.append(DebugStage(StageName.SOURCE, StageEnd.FOUND if found else StageEnd.CLEAN, text))
        hear(Said(stage=read[0]))
    record = DebugRun(request, hear, is_stopped).run()
    return DebugReport(
        implementation.key,
        request.workload.label,
        (*read, *record.stages),
        mistakes_of(implementation, record.seen, sources),
        tuple(one for one in record.seen if isinstance(one, Compared)),
        is_stopped=record.is_stopped,
    )
