"""What ``trace`` and its subcommands print with ``--json``; seconds, bytes and FLOPs."""

from roofscope.app.cli.document import Document
from roofscope.profiling.results.chrome_trace import TraceRow
from roofscope.profiling.traces.comparison import ComparedKernel, ComparedTrace
from roofscope.profiling.traces.totals import GpuTime, KernelRow, LaunchLatency


class TraceDocument(Document, frozen=True, kw_only=True, tag="trace"):
    """Of ``trace``: what was recorded. ``kernels``: without a device's they are operators of the CPU."""

    session: str
    point: int
    implementation: str
    trace: int  # its number, by which `export --trace` finds it
    on_device: bool
    kernels: tuple[TraceRow, ...]


class TraceFileDocument(Document, frozen=True, kw_only=True, tag="trace-file"):
    """Of ``trace open``: what a trace from anywhere holds; seconds."""

    file: str
    event_count: int
    dropped: int  # events that could not be read
    repaired: int  # events that had to be mended
    is_cut: bool
    kernels: tuple[KernelRow, ...]
    gpus: tuple[GpuTime, ...]
    launches: LaunchLatency | None


class TraceRepairDocument(Document, frozen=True, kw_only=True, tag="trace-repair"):
    """Of ``trace repair``: what was written, and what it cost."""

    file: str
    written: str
    event_count: int
    dropped: int  # events that could not be read
    repaired: int  # events that had to be mended
    is_cut: bool


class TraceCompareDocument(Document, frozen=True, kw_only=True, tag="trace-compare"):
    """Of ``trace compare``; all but the first trace are compared with the first."""

    files: tuple[str, ...]
    traces: tuple[ComparedTrace, ...]
    kernels: tuple[ComparedKernel, ...]
    sentences: tuple[str, ...]
