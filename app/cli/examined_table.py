"""What was found of versions without the GPU that they are for: a table of its own, without times."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.text import Text

from roofscope.app.cli.fitted_table import Column, Group, fitted, left_out_text, wrapped
from roofscope.app.presentation.examined import occupancy_of, shared_bytes_of
from roofscope.app.presentation.formatting import (
    MISSING,
    count_text,
    error_text,
    memory_text,
    percent_text,
    size_and_fill_text,
    sizes_text,
)
from roofscope.app.presentation.recorded import RecordedTime, example_sessions, recorded_time
from roofscope.profiling.paths import UserPaths
from roofscope.profiling.results.outcome import Examined
from roofscope.profiling.results.session import Point

_COLUMNS = (
    Column("verified at", 4, is_number=False),
    Column("error", 0),
    Column("compiled for", 1, is_number=False),
    Column("registers", 2),
    Column("spills", 3),
    Column("shared", 5),
    Column("occupancy", 6),
    Column("recorded elsewhere", 7, is_number=False),
)
_SAID = (
    "Verified in Triton's interpreter, not timed; compiled, not run: no GPU took part. What was recorded "
    "elsewhere is another machine's time."
)


def examined_lines(points: Iterable[Point], width: int) -> list[Text]:
    """Empty where there are none."""
    found = [point for point in points if isinstance(point.outcome, Examined)]
    if not found:
        return []
    sessions = example_sessions(UserPaths.of_user().example.parent)
    recorded = {point.number: recorded_time(point, sessions) for point in found}
    table = fitted("without a GPU", _COLUMNS, _groups(found, recorded), width)
    missing = [
        f"{point.label}: {point.outcome.missing}"
        for point in found
        if isinstance(point.outcome, Examined) and point.outcome.missing
    ]
    below = [_SAID, left_out_text(table), *missing]
    return [*table.lines, *(Text(wrapped(text, width), "dim") for text in below if text)]


def _groups(points: Sequence[Point], recorded: dict[int, RecordedTime | None]) -> list[Group]:
    by_workload = groupby(points, lambda point: point.job.workload)
    return [
        Group(
            workload.kernel,
            f"{workload.dtype.label} {size_and_fill_text(workload)}",
            tuple(_row(point, recorded[point.number]) for point in members),
        )
        for workload, members in by_workload
    ]


def _row(point: Point, recorded: RecordedTime | None) -> tuple[str, ...]:
    examined = point.outcome
    assert isinstance(examined, Examined)
    build, found = examined.build, examined.verification
    occupancy = occupancy_of(examined)
    return (
        point.implementation.label,
        sizes_text(examined.verified_sizes) if found else MISSING,
        error_text(found.relative_error if found else None),
        examined.architecture or MISSING,
        count_text(build.registers if build else None),
        memory_text(build.spill_bytes if build else None),
        memory_text(shared_bytes_of(build) if build else None),
        percent_text(occupancy.share if occupancy else None),
        recorded.text if recorded else MISSING,
    )
