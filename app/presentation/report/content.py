"""What a report says, as texts in the order of reading; the template only places them."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from roofscope.app.presentation.comparison import ACROSS_METHODS, ACROSS_METHODS_NOTE, speed_up_short_text
from roofscope.app.presentation.derived_text import derived_text
from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    counted_text,
    error_text,
    flop_rate_text,
    size_and_fill_text,
    spread_time_text,
)
from roofscope.app.presentation.point_row import PointRow, point_rows, status_text
from roofscope.app.presentation.roofline.caption import device_text
from roofscope.app.presentation.tuning import Tried, TuningTable, tuning_tables
from roofscope.app.presentation.verdict_text import WARNING_FLAGS, share_text
from roofscope.app.presentation.why import Why, WhyTexts
from roofscope.app.presentation.why_not import WhyNot
from roofscope.profiling.analysis.comparison import comparable
from roofscope.profiling.planning.plan import job_number
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import pins_of
from roofscope.profiling.results.session import Session


class Cell(Struct, frozen=True):
    """``key`` sorts; None sorts last."""

    text: str
    key: float | None = None
    is_number: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """Where a line may end: a figure stays with its unit, and an exponent whole."""
        return tuple(_BEFORE_INTERVAL.split(self.text)) if self.is_number else (self.text,)


class ResultRow(Struct, frozen=True):
    """One point: its cells in the order of COLUMNS, the sentence that judges it, and those folded below."""

    number: int
    title: str
    provider: str
    cells: tuple[Cell, ...]
    flags: tuple[str, ...]
    warns: bool
    verdict: str
    folded: tuple[tuple[str, str], ...]  # titles and sentences: cost, evidence, next step
    is_measured: bool


class JudgedRow(Struct, frozen=True):
    """A point with its ratios and what is said of it."""

    row: PointRow
    why: Why | WhyNot


class Best(Struct, frozen=True):
    """The fastest of a workload."""

    number: int
    workload: str
    implementation: str
    time: str
    speed_up: str
    share: str
    verdict: str


class Note(Struct, frozen=True):
    """What the user wrote of one point."""

    text: str
    about: str


def notes_of(session: Session, titles: Mapping[int, str]) -> tuple[Note, ...]:
    """Notes and tags, in the order of the points."""
    said = ((mark, titles.get(number, f"point {number}")) for number, mark in sorted(session.marks.items()))
    texts = ((" · ".join((*mark.tags, *([mark.note] if mark.note else []))), about) for mark, about in said)
    return tuple(Note(text, about) for text, about in texts if text)


class Tuned(NamedTuple):
    """What an autotuner tried for a point: its winner in short, the table, and as much of it as is shown."""

    title: str
    winner: str
    table: TuningTable
    shown: tuple[Tried, ...]
    more: int


class SourceText(Struct, frozen=True):
    """A file, and the implementations that are built from it."""

    name: str
    users: str
    text: str


COLUMNS = (
    *("Kernel", "Implementation", "Type", "Size", "Time, 95 % interval", "Of roof", "Speed-up"),
    *("Bandwidth", "FLOP/s", "Error of allowed", "Flags"),
)
_BEFORE_INTERVAL = re.compile(r" (?=[±(†]|of\b|slower|distinguishable)")
_MOST_TRIED = 64  # configurations of one autotuner
_MOST_SOURCE = 420_000  # characters in all: a report is to be sent by mail


def judged_rows(session: Session) -> list[JudgedRow]:
    """Every point in the order of the plan, judged once for all tables."""
    rows = point_rows(session, Provider.EAGER, pins_of(session.marks))
    rows.sort(key=lambda row: (job_number(row.point.job), row.point.number))
    texts = WhyTexts(session)
    return [JudgedRow(row, why) for row in rows if (why := texts.of(row.point))]


def result_rows(rows: Sequence[JudgedRow], session: Session) -> list[ResultRow]:
    """Each as a line of the table."""
    several = len(session.devices) > 1
    return [_result(row.row, row.why, several=several) for row in rows]


def _result(row: PointRow, why: Why | WhyNot, *, several: bool) -> ResultRow:
    point, judged = row.point, row.verdict
    workload, measured = point.job.workload, point.measured
    size = size_and_fill_text(workload) + (f" on {point.job.device}" if several else "")
    cells = [
        Cell(workload.kernel),
        Cell(point.implementation.label),
        Cell(workload.dtype.label),
        Cell(size, float(point.job.work.byte_count)),
    ]
    if measured:
        time, found = measured.time, measured.verification
        rate = point.achieved_flop_rate if point.job.work.flop_count else None
        error = f"{error_text(found.relative_error)} of {error_text(found.tolerance)}"
        taken = spread_time_text(time.median_s, time.bounds_s, len(time.samples_s))
        cells += [
            Cell(taken, time.median_s, True),
            Cell(share_text(judged), judged.fraction_of_roof, True),
            Cell(_speed_up(row), row.speed_up.ratio if row.speed_up else None, True),
            Cell(bandwidth_text(point.achieved_bandwidth), point.achieved_bandwidth, True),
            Cell(flop_rate_text(rate), rate, True),
            Cell(found.unverified or error, found.relative_error, True),
        ]
    else:
        cells += [Cell(status_text(point)), *(Cell("") for _ in range(5))]
    return ResultRow(
        number=point.number,
        title=f"{point.label}, {workload.dtype.label} {size}",
        provider=str(point.implementation.provider),
        cells=tuple(cells),
        flags=tuple(map(str, judged.flags)),
        warns=not WARNING_FLAGS.isdisjoint(judged.flags),
        verdict=why.titled[0][1],
        folded=(*why.titled[1:], *(("", other) for other in why.others)),
        is_measured=measured is not None,
    )


def best_rows(rows: Sequence[JudgedRow], session: Session) -> list[Best]:
    """The fastest implementation of each workload, in the order of the plan."""
    fastest: dict[str, JudgedRow] = {}
    for judged in rows:
        if judged.row.point.measured is None:
            continue
        key = comparable(judged.row.point)
        other = fastest.get(key)
        if other is None or _median_s(judged.row) < _median_s(other.row):
            fastest[key] = judged
    chosen = {judged.row.point.number for judged in fastest.values()}
    return [_best(judged, session) for judged in rows if judged.row.point.number in chosen]


def _speed_up(row: PointRow) -> str:
    return speed_up_short_text(row.speed_up) if row.speed_up else MISSING


def _median_s(row: PointRow) -> float:
    assert row.point.measured
    return row.point.measured.time.median_s


def _best(judged: JudgedRow, session: Session) -> Best:
    row = judged.row
    point, measured = row.point, row.point.measured
    assert measured
    workload, time = point.job.workload, measured.time
    where = f" on {point.job.device}" if len(session.devices) > 1 else ""
    return Best(
        point.number,
        f"{workload.kernel} {workload.dtype.label} {size_and_fill_text(workload)}{where}",
        point.implementation.label,
        spread_time_text(time.median_s, time.bounds_s, len(time.samples_s)),
        _speed_up(row),
        share_text(row.verdict),
        " ".join(sentence for _, sentence in judged.why.titled[:2]),
    )


def tunings_of(rows: Sequence[JudgedRow], titles: Mapping[int, str]) -> list[Tuned]:
    """Each tuned kernel of each point, in the order of the table."""
    found: list[Tuned] = []
    for judged in rows:
        point = judged.row.point
        for table in tuning_tables(point):
            winner = next((row.name for row in table.rows if row.is_winner), "")
            more = max(len(table.rows) - _MOST_TRIED, 0)
            title = titles.get(point.number, point.label)
            found.append(Tuned(title, winner, table, table.rows[:_MOST_TRIED], more))
    return found


def footnotes(rows: Sequence[ResultRow], session: Session) -> list[str]:
    """What signs in the table mean, and whose work was derived."""
    is_across = any(ACROSS_METHODS in cell.text for row in rows for cell in row.cells)
    derived = derived_text(point for point in session.points if point.measured)
    return [*([ACROSS_METHODS_NOTE] if is_across else []), *([derived] if derived else [])]


def count_text_of(session: Session) -> str:
    """``293 points: 289 measured, 4 not``."""
    measured = sum(point.measured is not None for point in session.points)
    rest = len(session.points) - measured
    text = f"{counted_text(len(session.points), 'point')}: {measured} measured"
    return f"{text}, {rest} not" if rest else text


def source_texts(session: Session) -> tuple[list[SourceText], int]:
    """Each file once, with the implementations that use it; and how many were too much for a report."""
    users: dict[tuple[str, str], list[str]] = {}
    texts: dict[tuple[str, str], str] = {}
    labels = {p.implementation.source_hash: p.implementation.declared.title for p in session.points}
    for source_hash, files in session.sources.items():
        if source_hash not in labels:
            continue
        for file in files:
            texts[file.name, file.sha256] = file.text
            users.setdefault((file.name, file.sha256), []).append(labels[source_hash])
    found: list[SourceText] = []
    left_out = total = 0
    for (name, digest), text in texts.items():
        if total + len(text) > _MOST_SOURCE:
            left_out += 1
            continue
        total += len(text)
        mine = list(dict.fromkeys(users[name, digest]))
        shown = ", ".join(mine[:3]) + (f" and {len(mine) - 3} more" if len(mine) > 3 else "")
        found.append(SourceText(name, shown, text))
    return sorted(found, key=lambda source: source.name), left_out


def title_of(session: Session) -> str:
    device = device_text(session)
    return f"{session.path.stem}, {device}" if device else session.path.stem
