"""What is wrong with an output or an input as a whole, and what no other rule explains."""

from collections.abc import Iterator, Sequence

from roofscope.profiling.analysis.mistakes.case import Case
from roofscope.profiling.analysis.mistakes.places import wrong_text
from roofscope.profiling.results.debugging import (
    Finding,
    InputChanged,
    Mistake,
    PatternKind,
    Raised,
    StageName,
)

_LEAST = 16  # elements: any one value is some factor of another


def factor(case: Case) -> Iterator[Finding]:
    for output in case.wrong:
        if output.count >= _LEAST and output.pattern.kind in (PatternKind.SCALED, PatternKind.SHIFTED):
            yield Finding(
                Mistake.WRONG_SCALE,
                None,
                wrong_text(output),
                "Look for a constant that is missing or counted twice, such as 1/n, 1/sqrt(d) or log2(e).",
                output.stage,
            )


def changed(case: Case) -> Iterator[Finding]:
    for one in case.all(InputChanged):
        yield Finding(
            Mistake.INPUT_CHANGED,
            None,
            f"After the call {one.name} holds other values than before.",
            "Write into outputs only; clone an input before working in place.",
            StageName.COMPARISON,
        )


def unexplained(case: Case, found: Sequence[Finding]) -> Iterator[Finding]:
    """What failed or is wrong and has no finding yet."""
    named = {one.stage for one in found}
    for one in case.all(Raised):
        if one.stage not in named:
            yield Finding(Mistake.FAILED, one.where, f"{one.text.rstrip('.')}.", "", one.stage)
    if found:
        return
    for output in case.wrong:
        launch = case.last_launch
        yield Finding(
            Mistake.WRONG_VALUES,
            launch.where if launch else None,
            f"{wrong_text(output)} No usual mistake explains it.",
            "Compare the formula with the reference; the map shows where it goes wrong.",
            output.stage,
        )
