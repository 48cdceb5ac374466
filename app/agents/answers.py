"""What the tools answer: structs in SI base units with the unit in the name, and sentences as both faces say.

null stands for what is not known. New fields come last.
"""

from msgspec import Struct

from roofscope.profiling.analysis.advice.record import WhyNotRecord, WhyRecord
from roofscope.profiling.devices.device import Device


class FlagAnswer(Struct, frozen=True, kw_only=True):
    flag: str
    meaning: str
    is_warning: bool  # the time may not be relied on


class BesideAnswer(Struct, frozen=True, kw_only=True):
    """Another implementation of the same job, timed in turn on the same inputs."""

    point: int
    implementation: str
    outcome: str
    median_s: float | None
    ratio: float | None  # how many times as fast the measured version is as this one, with its 95 % interval
    ratio_low: float | None
    ratio_high: float | None
    message: str


class PointAnswer(Struct, frozen=True, kw_only=True):
    """One measurement: verified and timed, or why not."""

    summary: str
    point: int  # its number in the session
    implementation: str
    source_sha256: str
    workload: str
    outcome: str  # measured, failed, skipped or cancelled
    is_verified: bool
    median_s: float | None  # device time of a call, cold caches
    low_s: float | None  # of its 95 % interval
    high_s: float | None
    fraction_of_roof: float | None
    roof: str  # the ceiling that limits it
    roof_byte_per_s: float | None
    roof_flop_per_s: float | None
    achieved_bandwidth_byte_per_s: float | None
    achieved_flop_per_s: float | None
    verdict: str
    limit: str
    next_step: str  # the next thing to try
    flags: tuple[FlagAnswer, ...]
    is_sealed: bool | None  # nothing that it reports rests on its own word
    unsealed_because: str | None
    relative_error: float | None
    tolerance: float | None
    byte_count: int  # compulsory: inputs read once, outputs written once
    flop_count: int
    compile_s: float | None
    registers: int | None
    spill_bytes: int | None
    failure_kind: str | None
    failing_file: str | None
    failing_line: int | None  # from 1
    log: str  # the last lines of a failure's
    note: str
    tags: tuple[str, ...]
    is_pinned: bool


class MeasureAnswer(Struct, frozen=True, kw_only=True):
    session: str
    form: str  # the file that says how it is measured; it may be edited
    measured: tuple[PointAnswer, ...]  # each function of the file that was asked for
    beside: tuple[BesideAnswer, ...]  # the reference's versions, held against the first
    notices: tuple[str, ...] = ()  # what the user of a terminal would have been shown
    problem: str = ""  # why not all was done, such as its deadline


class CeilingAnswer(Struct, frozen=True, kw_only=True):
    name: str
    source: str  # measured, in bursts or sustained, or the data sheet's
    value_byte_per_s: float | None
    value_flop_per_s: float | None


class LibraryKernel(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One that came with the program, to read and to compare with."""

    name: str
    formula: str
    folder: str = ""
    implementations: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    sizes: dict[str, dict[str, int]] = {}  # by preset


class Lacking(Struct, frozen=True, kw_only=True):
    """What the doctor found missing, or works with a caveat."""

    name: str
    finding: str
    fix: str


class HereAnswer(Struct, frozen=True, kw_only=True):
    summary: str
    device: Device
    ceilings: tuple[CeilingAnswer, ...]
    are_ceilings_measured: bool  # else the first measure_file measures them
    library: tuple[LibraryKernel, ...]
    doctor: tuple[Lacking, ...]
    session: str
    point_count: int
    roofscope_version: str


class WhyAnswer(Struct, frozen=True, kw_only=True):
    """``why`` of a point with a time, ``why_not`` of one without."""

    summary: str
    flags: tuple[FlagAnswer, ...]
    why: WhyRecord | None
    why_not: WhyNotRecord | None


class CompareAnswer(Struct, frozen=True, kw_only=True):
    """``ratio`` above 1 is in favour of b."""

    summary: str
    a: PointAnswer
    b: PointAnswer
    by: str  # time, or fraction of roof where the two are of different work or devices
    ratio: float | None
    ratio_low: float | None  # of its 95 % interval
    ratio_high: float | None
    change: str  # what b is beside a
    is_in_turn: bool
    common_rounds: int
    between_runs: float  # by what share two runs of unchanged code differ, which the interval holds
    notices: tuple[str, ...] = ()
    problem: str = ""


class BestAnswer(Struct, frozen=True, kw_only=True):
    """Of a kernel: its fastest verified version, of each workload."""

    kernel: str
    workload: str
    point: int
    implementation: str
    median_s: float
    fraction_of_roof: float | None
    verdict: str
    is_own: bool  # and not a version of the reference


class SessionLine(Struct, frozen=True, kw_only=True):
    point: int
    implementation: str
    workload: str
    source_sha256: str
    outcome: str
    median_s: float | None
    fraction_of_roof: float | None
    verdict: str
    flags: tuple[str, ...]
    note: str
    tags: tuple[str, ...]
    is_pinned: bool
    recorded_at: str


class SessionAnswer(Struct, frozen=True, kw_only=True):
    session: str
    device: str
    point_count: int
    best: tuple[BestAnswer, ...]
    points: tuple[SessionLine, ...]  # the newest last
