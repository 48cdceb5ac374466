"""The columns of the results table: one row of code each."""

from collections.abc import Callable
from enum import Enum

from msgspec import Struct

from roofscope.app.presentation.compare.marks_text import pinned_text
from roofscope.app.presentation.comparison import ACROSS_METHODS_NOTE, speed_up_short_text
from roofscope.app.presentation.flag_text import flags_beside
from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    break_even_text,
    count_text,
    energy_text,
    error_text,
    flop_rate_text,
    memory_text,
    size_and_fill_text,
    spread_time_text,
    time_text,
)
from roofscope.app.presentation.payback import BY_WALL_NOTE, IN_GRAPH_NOTE, PAYBACK_NOTE
from roofscope.app.presentation.point_row import PointRow, reason_text, status_text
from roofscope.app.presentation.tuning import configuration_text
from roofscope.app.presentation.verdict_text import share_text
from roofscope.profiling.analysis.statistics import INTERVAL_NOTE
from roofscope.profiling.results.outcome import BuildInfo, Examined, Measured, Verification

Key = float | str | None  # None sorts last, whatever the direction


class RestsOn(Enum):
    """What a column's value changes with: a table makes again only what has changed."""

    POINT = "the point"  # alone
    TRACES = "traces"  # of the session
    MARKS = "marks"  # what the user says of points
    CEILINGS = "ceilings"
    OTHERS = "others"  # points of the same workload

    @property
    def is_slow(self) -> bool:
        """Whether it takes so long to find that it is not done for all rows at once."""
        return self in (RestsOn.CEILINGS, RestsOn.OTHERS)


class Column(Struct, frozen=True):
    """How one column reads and sorts."""

    title: str
    tip: str
    text: Callable[[PointRow], str]
    key: Callable[[PointRow], Key]
    is_number: bool = True
    in_full: Callable[[PointRow], str] | None = None  # for a tool tip and a copy, where the text is short
    rests_on: RestsOn = RestsOn.POINT

    def full_text(self, row: PointRow) -> str:
        return self.in_full(row) if self.in_full else self.text(row)


def _measured(row: PointRow) -> Measured | None:
    return row.point.measured


def _verification(row: PointRow) -> Verification | None:
    """Also of what was interpreted and has no time."""
    outcome = row.point.outcome
    return outcome.verification if isinstance(outcome, Measured | Examined) else None


def _time_text(row: PointRow) -> str:
    measured = _measured(row)
    if measured is None:
        return status_text(row.point)  # the reader looks here first
    return spread_time_text(measured.time.median_s, measured.time.bounds_s, len(measured.time.samples_s))


def _time(row: PointRow) -> Key:
    measured = _measured(row)
    return measured.time.median_s if measured else None


def _flop_rate(row: PointRow) -> float | None:
    return row.point.achieved_flop_rate if row.point.job.work.flop_count else None


def _speed_up(row: PointRow) -> float | None:
    return row.speed_up.ratio if row.speed_up else None


def _error(row: PointRow) -> float | None:
    found = _verification(row)
    return found.relative_error if found else None


def _largest_error(row: PointRow) -> float | None:
    found = _verification(row)
    return found.largest.absolute if found and found.largest else None


def _energy(row: PointRow) -> float | None:
    measured = _measured(row)
    return measured.energy.joules_per_call if measured and measured.energy else None


def _host(row: PointRow) -> float | None:
    measured = _measured(row)
    return measured.host_s if measured else None


def _kernels(row: PointRow) -> float | None:
    measured = _measured(row)
    return round(sum(kernel.calls for kernel in measured.kernels)) if measured and measured.kernels else None


def _temporary(row: PointRow) -> float | None:
    measured = _measured(row)
    return measured.memory.temporary_bytes if measured and measured.memory else None


def _flags(row: PointRow) -> str:
    return ", ".join(flags_beside(row.verdict))


def _trace(row: PointRow) -> str:
    return "yes" if row.has_trace else ""


def _limited_by(row: PointRow) -> str:
    return row.limited_by or (str(row.verdict.kind) if row.point.measured else "")


def _build(read: Callable[[BuildInfo], float | None]) -> Callable[[PointRow], float | None]:
    def value(row: PointRow) -> float | None:
        outcome = row.point.outcome
        build = outcome.build if isinstance(outcome, Measured | Examined) else None
        return read(build) if build else None

    return value


def _count(value: float | None) -> str:
    return count_text(None if value is None else int(value))


def _name(title: str, tip: str, text: Callable[[PointRow], str], rests_on: RestsOn = RestsOn.POINT) -> Column:
    return Column(title, tip, text, lambda row: text(row) or None, is_number=False, rests_on=rests_on)


def _number(
    title: str,
    tip: str,
    value: Callable[[PointRow], float | None],
    text: Callable[[float | None], str],
    rests_on: RestsOn = RestsOn.POINT,
) -> Column:
    return Column(title, tip, lambda row: text(value(row)), value, rests_on=rests_on)


COLUMNS = (
    _name("Kernel", "What is computed", lambda row: row.point.implementation.kernel),
    _name("Implementation", "Which version of it", lambda row: row.point.implementation.label),
    _name("Dtype", "Element type of every tensor", lambda row: row.point.job.workload.dtype.label),
    Column(
        "Size",
        "Sizes along the kernel's axes; sorted by bytes moved",
        lambda row: size_and_fill_text(row.point.job.workload),
        lambda row: float(row.point.job.work.byte_count),
        is_number=False,
        in_full=lambda row: row.point.job.workload.size_label,
    ),
    Column(
        "Time",
        f"Median device time of a call, with its 95 % interval. {INTERVAL_NOTE}",
        _time_text,
        _time,
    ),
    Column(
        "Of roof",
        "Share of what the limiting ceiling allows; the details say why one is above 100 %",
        lambda row: share_text(row.verdict),
        lambda row: row.verdict.fraction_of_roof,
        rests_on=RestsOn.CEILINGS,
    ),
    Column(
        "Speed-up",
        f"Baseline's time over this time on the same workload, with its 95 % interval. {ACROSS_METHODS_NOTE}",
        lambda row: speed_up_short_text(row.speed_up) if row.speed_up else MISSING,
        _speed_up,
        rests_on=RestsOn.OTHERS,
    ),
    _number(
        "Bandwidth",
        "Compulsory bytes over the time",
        lambda row: row.point.achieved_bandwidth,
        bandwidth_text,
    ),
    _number("FLOP/s", "Floating-point operations over the time", _flop_rate, flop_rate_text),
    _name(
        "Limited by",
        "What the measurement proves to limit it; the details say how",
        _limited_by,
        RestsOn.CEILINGS,
    ),
    _name("Flags", "What a reader of the time must know", _flags, RestsOn.CEILINGS),
    _name("Trace", "A trace of this point is in the session; Enter opens it", _trace, RestsOn.TRACES),
    _name(
        "Mark",
        "Whether it is pinned, its tags and its note",
        lambda row: pinned_text(row.mark),
        RestsOn.MARKS,
    ),
    _number("Error", "Relative error against the float64 reference", _error, error_text),
    _number("Max error", "Largest absolute difference of one element from it", _largest_error, error_text),
    _number("Registers", "Registers a thread", _build(lambda build: build.registers), _count),
    _number(
        "Spills", "Bytes of registers spilled, a thread", _build(lambda build: build.spill_bytes), memory_text
    ),
    _number("Shared", "Shared memory a block", _build(lambda build: build.shared_bytes), memory_text),
    _number("Compile", "Time the compiler took", _build(lambda build: build.compile_s), time_text),
    _number(
        "Pays by wall after",
        f"{PAYBACK_NOTE} {BY_WALL_NOTE}",
        lambda row: row.payback.by_wall,
        break_even_text,
        RestsOn.OTHERS,
    ),
    _number(
        "Pays in a graph after",
        f"{PAYBACK_NOTE} {IN_GRAPH_NOTE}",
        lambda row: row.payback.in_graph,
        break_even_text,
        RestsOn.OTHERS,
    ),
    _number("Host", "Wall time a call, Python and launch included", _host, time_text),
    _number("Kernels", "Device kernels that a call launches", _kernels, _count),
    _number(
        "Temporary",
        "Most memory of a call that is neither input nor output; not known on a CPU",
        _temporary,
        memory_text,
    ),
    _number("Energy", "Energy of a call, the whole board's", _energy, energy_text),
    _name(
        "Configuration",
        "What its autotuner chose; Details and the Tuning pane have all that it tried",
        lambda row: configuration_text(row.point.measured),
    ),
    _name("Regime", "At the clock of a fresh or of a hot device", lambda row: str(row.point.job.regime)),
    _name("Device", "On which device of the session", lambda row: row.point.job.device),
    _name("Status", "Measured, or why not", lambda row: status_text(row.point)),
    _name("Reason", "Why there is no time, or why a fallback was used", lambda row: reason_text(row.point)),
)
