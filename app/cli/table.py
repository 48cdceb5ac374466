"""A session as text: its measured points by workload, the modes of torch.compile, and what was skipped."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from roofscope.app.cli.examined_table import examined_lines
from roofscope.app.cli.fitted_table import (
    Column,
    FittedTable,
    Group,
    elided,
    fitted,
    left_out_text,
    wrapped,
)
from roofscope.app.cli.outcome_lines import (
    failure_lines,
    on_device_text,
    rate_text,
    skip_lines,
    tuned_lines,
    unverified_lines,
    workload_text,
)
from roofscope.app.presentation.compare.marks_text import mark_lines
from roofscope.app.presentation.comparison import (
    ACROSS_METHODS,
    across_methods_text,
    speed_up_short_text,
)
from roofscope.app.presentation.derived_text import derived_text
from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    break_even_text,
    count_text,
    error_text,
    spread_text,
    time_text,
)
from roofscope.app.presentation.verdict_text import share_text
from roofscope.app.presentation.why import limited_by_text
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.comparison import Baselines, BreakEven
from roofscope.profiling.analysis.verdict import flags_of, verdict
from roofscope.profiling.planning.plan import job_number
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import pins_of
from roofscope.profiling.results.outcome import Flag
from roofscope.profiling.results.session import Point, Session

_FLAG_LETTERS = {flag: chr(ord("a") + number) for number, flag in enumerate(Flag)}
_COLUMNS = (
    Column("time", 0),
    Column("95 % CI", 3),
    Column("speed-up", 2),
    Column("of roof", 4),
    Column("limited by", 5, is_number=False),
    Column("bandwidth", 6),
    Column("rate", 7),
    Column("error", 8),
    Column("max error", 9),
    Column("flags", 1, "yellow", is_number=False),
)
_MODE_COLUMNS = (
    Column("compiling", 0),
    Column("graphs", 6),
    Column("breaks", 5),
    Column("recompiles", 7),
    Column("kernels a call", 4),
    Column("host time", 3),
    Column("pays by wall after", 1),
    Column("in a graph after", 2),
)


def print_table(console: Console, session: Session) -> None:
    """As wide as the console at most; in a pipe, which has no width, as wide as it must be."""
    for line in table_lines(session, console.width):
        console.print(line, highlight=False, soft_wrap=True)


def table_lines(session: Session, width: int) -> list[Text]:
    """Measured points by workload; what failed, was stopped or skipped, and why; pins, notes and tags.

    In the order of the plan: several devices end their jobs in an order of their own.
    """
    points = sorted(session.points, key=lambda point: (job_number(point.job), point.number))
    measured = [point for point in points if point.measured]
    lines: list[Text] = []
    if measured:
        if names := ", ".join(f"{device.name} ({device.id})" for device in session.devices):
            lines.append(Text(elided(names, width), "italic"))
        lines += _result_lines(measured, session, width)
    lines += _mode_lines(measured, session, width)
    lines += examined_lines(points, width)
    if derived := derived_text(measured):
        lines.append(Text(wrapped(derived, width)))
    said = [*unverified_lines(measured), *tuned_lines(measured)]
    reasons = [*said, *failure_lines(points, session), *skip_lines(points)]
    lines += [Text(wrapped(line, width)) for line in reasons]
    marks = mark_lines(session)
    return [*lines, *([Text("pins, notes and tags", "bold")] if marks else []), *map(Text, marks)]


def _result_lines(points: Sequence[Point], session: Session, width: int) -> list[Text]:
    """Flags in words where every column has room then, else as letters that a line below explains."""
    baselines = Baselines(session.points, pinned=pins_of(session.marks))
    cases = Cases(session)
    judged = {point.number: limited_by_text(point, verdict(point, session), cases) for point in points}
    flags = {point.number: flags_of(point, session) for point in points}
    named = Counter((_group(point, session), point.implementation.label) for point in points)

    def table(text_of: Callable[[Flag], str], joint: str) -> FittedTable:
        def row(point: Point) -> tuple[str, ...]:
            return (
                _label(point, named[_group(point, session), point.implementation.label]),
                *_row(point, session, baselines, judged[point.number]),
                joint.join(map(text_of, flags[point.number])),
            )

        return fitted("implementation", _COLUMNS, _groups(points, row, session), width)

    across = _across_methods_lines(points, baselines, width)
    in_words = table(str, ", ")
    if not in_words.left_out:
        return [*in_words.lines, *across]
    in_letters = table(_FLAG_LETTERS.__getitem__, " ")
    present = set[Flag]().union(*flags.values())
    legend = ", ".join(f"{letter} {flag}" for flag, letter in _FLAG_LETTERS.items() if flag in present)
    below = [f"Flags: {legend}." if legend else "", left_out_text(in_letters)]
    return [*in_letters.lines, *(Text(wrapped(text, width), "dim") for text in below if text), *across]


def _label(point: Point, count: int) -> str:
    """With its number where several of its group have the same name: two edits of a file, say."""
    label = point.implementation.label
    return f"{label} (point {point.number})" if count > 1 else label


def _across_methods_lines(points: Iterable[Point], baselines: Baselines, width: int) -> list[Text]:
    """What the dagger at a speed-up means, for each pair of methods that has one."""
    found = (baselines.speed_up(point) for point in points)
    texts = dict.fromkeys(across_methods_text(speed_up) for speed_up in found if speed_up)
    return [Text(wrapped(f"{ACROSS_METHODS} {text}", width), "yellow") for text in texts if text]


def _mode_lines(points: Iterable[Point], session: Session, width: int) -> list[Text]:
    """What compiling took and when it pays, for workloads on which torch.compile's modes were compared."""
    compiled = [point for point in points if point.implementation.provider is Provider.COMPILE]
    modes = Counter(point.job.id for point in compiled)
    compared = [point for point in compiled if modes[point.job.id] > 1]
    if not compared:
        return []
    break_even = BreakEven(session.points)
    groups = _groups(compared, lambda point: _mode_row(point, break_even), session)
    table = fitted("torch.compile", _MODE_COLUMNS, groups, width)
    below = left_out_text(table)
    return [*table.lines, *([Text(wrapped(below, width), "dim")] if below else [])]


def _groups(
    points: Iterable[Point], row: Callable[[Point], tuple[str, ...]], session: Session
) -> list[Group]:
    """Points by workload, in the order given."""
    by_workload = groupby(points, lambda point: _group(point, session))
    return [Group(kernel, text, tuple(map(row, members))) for (kernel, text), members in by_workload]


def _group(point: Point, session: Session) -> tuple[str, str]:
    """Its kernel and its workload."""
    return point.job.workload.kernel, f"{workload_text(point)}{on_device_text(point, session)}"


def _row(point: Point, session: Session, baselines: Baselines, limited_by: str) -> tuple[str, ...]:
    measured, speed_up = point.measured, baselines.speed_up(point)
    assert measured is not None
    judged = verdict(point, session)
    return (
        time_text(measured.time.median_s),
        spread_text(measured.time.median_s, measured.time.bounds_s, len(measured.time.samples_s)),
        speed_up_short_text(speed_up) if speed_up else MISSING,
        share_text(judged),
        limited_by,
        bandwidth_text(point.achieved_bandwidth),
        rate_text(point),
        error_text(measured.verification.relative_error),
        error_text(largest.absolute if (largest := measured.verification.largest) else None),
    )


def _mode_row(point: Point, break_even: BreakEven) -> tuple[str, ...]:
    measured = point.measured
    assert measured is not None
    build, payback = measured.build, break_even.calls(point)
    kernel_count = sum(kernel.calls for kernel in measured.kernels)
    return (
        point.implementation.label,
        f"{time_text(build.compile_s)}{' cached' if build.cached_graphs else ''}",
        count_text(build.graph_count),
        count_text(build.graph_breaks),
        count_text(build.recompiles),
        count_text(round(kernel_count)) if measured.kernels else MISSING,
        time_text(measured.host_s),
        break_even_text(payback.by_wall),
        break_even_text(payback.in_graph),
    )
