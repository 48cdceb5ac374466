"""What ``trace`` and its subcommands print with ``--json``; seconds, bytes and FLOPs."""

from msgspec import Struct

from roofscope.app.cli.document import Document
from roofscope.profiling.results.chrome_trace import TraceRow
from roofscope.profiling.traces.averages import OperatorRow
from roofscope.profiling.traces.comparison import ComparedKernel, ComparedTrace
from roofscope.profiling.traces.roofline import UnknownOperator
from roofscope.profiling.traces.totals import GpuTime, KernelRow, LaunchLatency


class TraceDocument(Document, frozen=True, kw_only=True, tag="trace"):
    """Of ``trace``: what was recorded. ``kernels``: without a device's they are operators of the CPU."""

    session: str
    point: int
    implementation: str
    trace: int  # its number, by which `export --trace` finds it
    on_device: bool
    kernels: tuple[TraceRow, ...]


class RecordedTrace(Struct, frozen=True, kw_only=True):
    """One of several."""

    point: int
    implementation: str
    trace: int  # its number, by which `export --trace` finds it
    on_device: bool
    kernels: tuple[TraceRow, ...]


class TracesDocument(Document, frozen=True, kw_only=True, tag="traces"):
    """Of ``trace`` with several points, or with --all; what could not be recorded is not there."""

    session: str
    traces: tuple[RecordedTrace, ...]


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
    operators: tuple[OperatorRow, ...] = ()  # so many as --operators asks for


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


class TracedOperator(Struct, frozen=True, kw_only=True):
    """All calls of an operator with the same arguments and kernels; work and rates are those of one call."""

    name: str
    shapes: str
    dtype: str
    count: int
    time_s: float  # of all calls
    share: float  # of the device time of the trace
    flop_count: int | None
    byte_count: int | None
    flop_per_s: float | None
    byte_per_s: float | None
    intensity_flop_per_byte: float | None
    roof: str | None
    fraction_of_roof: float | None
    kernels: tuple[str, ...]


class TraceRooflineDocument(Document, frozen=True, kw_only=True, tag="trace-roofline"):
    """Of ``trace roofline``. ``unknown``: device time whose work no recorded shape says."""

    file: str
    device: str  # that the trace names
    ceilings: str  # where they are from
    known_share: float  # of the device time
    points: tuple[TracedOperator, ...]
    unknown: tuple[UnknownOperator, ...]
