"""A workload as the line above its implementations."""

from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.formatting import counted_text, si_text, size_and_fill_text
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.results.session import Point


class WorkloadLine(Struct, frozen=True):
    name: str  # softmax
    sizes: str  # float32, 32Ki × 4Ki
    summary: str  # 5 implementations, fastest CUDA warp in 62.7 µs

    @property
    def text(self) -> str:
        return f"{self.name}, {self.sizes}: {self.summary}"


def workload_line(points: Sequence[Point], *, names_device: bool) -> WorkloadLine:
    """Of points of one workload, regime and device; the last two are named where they are not as usual."""
    job = points[0].job
    workload = job.workload
    parts = [workload.dtype.label, size_and_fill_text(workload)]
    if job.regime is not Regime.BURST:
        parts.append(str(job.regime))
    if names_device:
        parts.append(job.device)
    count = len({point.implementation.key for point in points})
    timed = [(point.measured.time.median_s, point) for point in points if point.measured]
    summary = counted_text(count, "implementation")
    if timed:
        fastest_s, fastest = min(timed, key=lambda pair: pair[0])
        summary += f", fastest {fastest.implementation.label} in {si_text(fastest_s, 's')}"
    else:
        summary += ", none measured"
    return WorkloadLine(workload.kernel, ", ".join(parts), summary)
