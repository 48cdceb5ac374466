"""A trace in a line: how much ran, and what the GPUs did with the time."""

from roofscope.app.presentation.formatting import count_text, counted_text, percent_text, time_text
from roofscope.profiling.traces.columns import Trace
from roofscope.profiling.traces.totals import GpuTime, TraceTotals


def summary_line(trace: Trace, totals: TraceTotals) -> str:
    events = counted_text(trace.health.event_count, "event")
    if not totals.gpus:
        return f"{events}, no work of a GPU; operators by their own time"
    runs = sum(row.count for row in totals.kernels)
    ran = "1 kernel or copy" if runs == 1 else f"{count_text(runs)} kernels and copies"
    return f"{events}, {ran}. {' '.join(map(gpu_text, totals.gpus))}"


def gpu_text(gpu: GpuTime) -> str:
    """``GPU 0: 9.31 ms, of which 47 % compute and 53 % idle``, and its gaps."""
    shares = {"compute": gpu.compute_s, "copies": gpu.copy_s, "idle": gpu.idle_s}
    whole = gpu.span_s or 1.0
    parts = [f"{percent_text(seconds / whole)} {name}" for name, seconds in shares.items() if seconds > 0]
    whole_text = f"GPU {gpu.device}: {time_text(gpu.span_s)}, of which {', '.join(parts)}"
    if not gpu.gap_count:
        return f"{whole_text}."
    return (
        f"{whole_text} in {counted_text(gpu.gap_count, 'gap')}, the longest {time_text(gpu.longest_gap_s)}."
    )
