"""Elements of an output that nothing was written to: the grid, or a mask, ends before them."""

from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case, grid_text
from roofscope.profiling.analysis.mistakes.places import place_text
from roofscope.profiling.results.debugging import Finding, Mistake, PatternKind

_TAIL = (PatternKind.FROM, PatternKind.RANGE, PatternKind.UNTIL)


def unwritten(case: Case) -> Iterator[Finding]:
    for output in case.outputs:
        if not output.unwritten or output.unwritten == output.count == 0:
            continue
        launch = case.last_launch
        place = place_text(output.unwritten_pattern, output.shape)
        text = (
            f"{output.unwritten} of {output.count} elements of {output.output} were never written: {place}."
        )
        if output.unwritten_pattern.kind in _TAIL and launch:
            yield Finding(
                Mistake.GRID_TOO_SMALL,
                launch.where,
                f"{text} The grid of {launch.kernel} is {grid_text(launch.grid)}.",
                "Launch programs for all elements: triton.cdiv(n, BLOCK), rounded up, in each dimension.",
                output.stage,
            )
        else:
            yield Finding(
                Mistake.UNINITIALISED,
                output.made or (launch.where if launch else None),
                text,
                "Write each element of the output once, or make it with torch.zeros.",
                output.stage,
            )
