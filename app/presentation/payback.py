"""After how many calls compiling pays, as text: by wall time and inside a CUDA graph, which may disagree."""

from roofscope.app.presentation.formatting import break_even_text
from roofscope.profiling.analysis.comparison import Payback

PAYBACK_NOTE = "Calls until what they save over eager is the compile time."
BY_WALL_NOTE = "By wall time, where a call takes as long as host or device, the longer."
IN_GRAPH_NOTE = "Inside a CUDA graph, where the device's time alone counts."


def payback_text(payback: Payback) -> str:
    """``by wall time never; inside a CUDA graph 80 610 calls``; "" where nothing is known."""
    parts = (("by wall time", payback.by_wall), ("inside a CUDA graph", payback.in_graph))
    return "; ".join(f"{how} {break_even_text(calls)}" for how, calls in parts if calls is not None)
