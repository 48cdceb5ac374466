"""What is said while a worker does not answer."""

from roofscope.app.presentation.formatting import duration_text
from roofscope.profiling.supervision.run_events import Awaited


def awaited_text(awaited: Awaited) -> str:
    """``no answer for 6 s; ended in 14 s``."""
    return f"no answer for {duration_text(awaited.silent_s)}; ended in {duration_text(awaited.left_s)}"
