"""Why there is no sweep to draw, and how to get one."""

from collections.abc import Sequence

from roofscope.app.presentation.sweep.axis import SweepAxis
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.profiling.results.session import Session

FILTERED_TEXT = "The filter hides every point of this sweep. Esc in the chart shows them again."


def why_empty(
    session: Session,
    kernel: str,
    axes: Sequence[SweepAxis],
    has_lines: bool,
    quantity: Quantity,
) -> str:
    """In sentences; nothing where there is something to draw."""
    if not kernel:
        return (
            "No point has a time yet. Tick a kernel, write sizes such as n=2^10..2^24 into the plan's own "
            "sizes and press Run (F5)."
        )
    if not axes:
        spec = session.specs.get(kernel)
        axis = spec.axes[-1].name if spec and spec.axes else "n"
        return (
            f"{kernel} was measured at one size. Measure sizes 2^10 to 2^24: write {axis}=2^10..2^24 "
            f"into the plan's own sizes and press Run, or roofscope run {kernel} --size {axis}=2^10..2^24."
        )
    if not has_lines:
        return _NOTHING[quantity].format(kernel=kernel)
    return ""


_NOTHING = {
    Quantity.BANDWIDTH: "No time of {kernel} gives a bandwidth.",
    Quantity.FLOP_RATE: "{kernel} does no floating-point operation; choose GB/s or time.",
    Quantity.TIME: "No point of {kernel} has a time.",
    Quantity.SPEED_UP: "The baseline of {kernel} was not timed at these sizes; choose another.",
    Quantity.OF_ROOF: "No ceiling is measured for {kernel} yet; measure the ceilings (F6) or choose GB/s.",
}
