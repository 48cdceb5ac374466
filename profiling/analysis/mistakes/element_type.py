"""An output of another type or shape than is wanted, and sums that are kept in 16 bits."""

import re
from collections.abc import Iterator

from roofscope.profiling.analysis.mistakes.case import Case
from roofscope.profiling.analysis.mistakes.places import wrong_text
from roofscope.profiling.results.debugging import Finding, Mistake, PatternKind

_LARGEST = 0.2  # relative error: rounding makes no more, a wrong index does
_SHORT = re.compile(
    r"tl\.(?:zeros|full)\(.*tl\.b?float16|out_dtype\s*=\s*tl\.b?float16"
    r"|\b(?:__half|half|__nv_bfloat16|at::Half)\s+(?:\w*(?:sum|acc|total)\w*)\s*="
)
_ROUNDING = (PatternKind.ALL, PatternKind.SCATTERED, PatternKind.SCALED, PatternKind.FROM)


def element_type(case: Case) -> Iterator[Finding]:
    for output in case.wrong:
        if output.shape != output.wanted_shape:
            yield Finding(
                Mistake.WRONG_SHAPE,
                output.made,
                wrong_text(output),
                "Give the output the shape that the reference returns.",
                output.stage,
            )
        elif output.element != output.wanted_element:
            yield Finding(
                Mistake.WRONG_DTYPE,
                output.made,
                wrong_text(output),
                f"Make it with dtype=torch.{output.wanted_element}, or as empty_like of such an input.",
                output.stage,
            )
        is_small = output.relative_error is not None and output.relative_error < _LARGEST
        line = case.first_line(_SHORT)
        if output.wrong and is_small and line and output.pattern.kind in _ROUNDING:
            yield Finding(
                Mistake.SHORT_SUM,
                line,
                f"{output.output} is off by {output.relative_error:.2g}, more than the "
                f"{output.tolerance:.2g} allowed, and sums are kept in 16 bits here.",
                "Sum in float32, and convert once, when the result is stored.",
                output.stage,
            )
