"""Pairs of points as one table and the sentences that go with it, for the window and the terminal."""

import math
from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.compare.marks_text import mark_text, workload_name
from roofscope.app.presentation.compare.notes import (
    alone_note,
    apart,
    apart_text,
    device_notes,
    reasons,
    session_text,
    together,
    unchanged_note,
    work_note,
)
from roofscope.app.presentation.formatting import (
    MISSING,
    counted_text,
    percent_text,
    ratio_text,
    spread_time_text,
)
from roofscope.app.presentation.point_row import reason_text, status_text
from roofscope.profiling.analysis.pairs import (
    Change,
    Pair,
    Side,
    failures_of,
    history_of,
    pairs_of_pins,
    pairs_of_sessions,
)
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.session import Point, Session

GOOD, BAD = "good", "bad"
_STATES = {
    Change.FASTER: GOOD,
    Change.NEARER: GOOD,
    Change.SLOWER: BAD,
    Change.FARTHER: BAD,
    Change.FAILS: BAD,
    Change.ONLY_NOW: GOOD,
}
_HASH = 7  # characters that tell an edit from others
_NO_PIN = "No point is pinned. Select one and press Ctrl+B; a second pin of its kernel is compared with it."


class ComparedColumn(Struct, frozen=True):
    title: str
    tip: str
    is_number: bool = True


COLUMNS = (
    ComparedColumn("Workload", "Kernel, data type and sizes", is_number=False),
    ComparedColumn("Implementation", "What is compared", is_number=False),
    ComparedColumn("Time A", "Median device time of a call, with its 95 % interval"),
    ComparedColumn("Time B", "Median device time of a call, with its 95 % interval"),
    ComparedColumn(
        "Ratio",
        "Above 1 in favour of B: A's time over B's, or B's share of its roof over A's, with its interval",
    ),
    ComparedColumn(
        "B is",
        "Whether the interval of the ratio leaves 1 out; of two runs it holds what unchanged code differs by",
        is_number=False,
    ),
    ComparedColumn("Of roof A", "Share of the ceiling that limits A"),
    ComparedColumn("Of roof B", "Share of the ceiling that limits B"),
    ComparedColumn("Source", "Whether B's source is another than A's", is_number=False),
)


class ComparedRow(Struct, frozen=True):
    """A cell a column. The numbers are those of points of the session shown; None of another session's."""

    cells: tuple[str, ...]
    state: str  # good, bad or ""
    tip: str
    number_a: int | None
    number_b: int | None


class ComparedTable(Struct, frozen=True):
    """``notes`` are sentences that a reader of the rows must know."""

    title: str
    rows: tuple[ComparedRow, ...]
    notes: tuple[str, ...]
    pairs: tuple[Pair, ...] = ()


def pins_table(session: Session) -> ComparedTable:
    """The first pin of each kernel is A, its other pins are B."""
    pairs = pairs_of_pins(session)
    marks = session.marks

    def tip(pair: Pair) -> str:
        said = [
            f"{side.point.implementation.label}: {mark_text(marks[side.point.number])}"
            for side in (pair.a, pair.b)
            if side and mark_text(marks[side.point.number])
        ]
        return "\n".join([how_text(pair), *said]).strip()

    rows = tuple(_row(pair, _both_names(pair), tip(pair)) for pair in pairs)
    said = (*together(pairs), *apart(pairs), *work_note(pairs), *reasons(pairs))
    return ComparedTable("Pins", rows, said if pairs else (_NO_PIN,), pairs)


def sessions_table(a: Session, b: Session, names: tuple[str, str] | None = None) -> ComparedTable:
    """Each implementation and workload that both sessions have."""
    found = pairs_of_sessions(a, b)
    rows = tuple(
        _row(pair, pair.a.point.implementation.label, how_text(pair), is_b_elsewhere=True)
        for pair in found.pairs
    )
    name_a, name_b = names or (a.path.name, b.path.name)
    notes = (
        f"A is {session_text(a, name_a)}; B is {session_text(b, name_b)}.",
        *device_notes(a, b, found.pairs),
        *(apart(found.pairs) if not found.apart.rows else unchanged_note(found)),
        *together(found.pairs),
        *alone_note(found),
        *reasons(found.pairs),
    )
    return ComparedTable(f"{one_line(name_a)} and {one_line(name_b)}", rows, notes, found.pairs)


def history_table(session: Session, point: Point) -> ComparedTable:
    """Each measurement of one implementation on one workload, beside the one before it."""
    pairs = history_of(session, point)
    edits: dict[str, int] = {}
    rows: list[ComparedRow] = []
    for pair in pairs:
        newest = pair.b or pair.a
        source = newest.point.implementation.source_hash
        edit = edits.setdefault(source, len(edits) + 1)
        date = newest.point.recorded_at[:16].replace("T", " ")
        name = f"edit {edit} ({source[:_HASH]}), {date}"
        rows.append(_row(pair, name, how_text(pair)))
    name = one_line(f"{point.implementation.label}, {workload_name(point)}")
    failed = tuple(map(_failed_text, failures_of(session, point)))
    notes = (
        f"{counted_text(len(edits), 'edit')} of {name}; A is the measurement before B.",
        *together(pairs),
        *apart(pairs),
    )
    said = (*(notes if pairs else (f"{name} has no time.",)), *failed)
    return ComparedTable(f"History of {name}", tuple(rows), said, pairs)


def _failed_text(point: Point) -> str:
    """An edit that gave no time, which the table of times leaves out."""
    source, date = point.implementation.source_hash[:_HASH], point.recorded_at[:16].replace("T", " ")
    reason = reason_text(point).rstrip(".")
    return one_line(f"No time at {date} ({source}): {status_text(point)}{f'; {reason}' if reason else ''}.")


def ratio_cell(pair: Pair) -> str:
    """``1.32× (1.31 to 1.33)``; what is by roof and not by time says so."""
    if pair.ratio is None or pair.change is Change.SAME:
        return MISSING
    known = (pair.ratio.low, pair.ratio.high) if pair.ratio.is_known else (None, None)
    text = ratio_text(pair.ratio.ratio, *known)
    return f"{text} of roof" if pair.is_by_roof else text


def how_text(pair: Pair) -> str:
    """How the two are compared, as a sentence; "" of one that stands alone."""
    if pair.b is None or pair.ratio is None:
        return ""
    if pair.is_by_roof:
        return "Of different work or GPUs: compared by the share that each reaches of its own roof."
    if pair.common_rounds:
        return f"By the ratios within {pair.common_rounds} rounds timed in turn."
    return apart_text(pair)


def _row(pair: Pair, name: str, tip: str, *, is_b_elsewhere: bool = False) -> ComparedRow:
    a, b, change = pair.a, pair.b, pair.change
    source = "" if b is None else "edited" if pair.is_edited else "same"
    if b and b.point.implementation.key != a.point.implementation.key:
        source = ""  # two implementations, of which nobody expects one source
    cells = (
        *(_workloads(pair), name, _time(a), _time(b), ratio_cell(pair), str(change) if b else ""),
        *(percent_text(a.fraction_of_roof), percent_text(b.fraction_of_roof) if b else MISSING, source),
    )
    number_b = b.point.number if b and not is_b_elsewhere else None
    return ComparedRow(tuple(map(one_line, cells)), _STATES.get(change, ""), tip, a.point.number, number_b)


def _time(side: Side | None) -> str:
    if side is None:
        return MISSING
    measured = side.point.measured
    if measured is None:
        return status_text(side.point)
    return spread_time_text(measured.time.median_s, measured.time.bounds_s, len(measured.time.samples_s))


def _workloads(pair: Pair) -> str:
    mine = workload_name(pair.a.point)
    other = workload_name(pair.b.point) if pair.b else mine
    return mine if mine == other else f"{mine} / {other}"


def _both_names(pair: Pair) -> str:
    mine = pair.a.point.implementation.label
    return f"{mine} / {pair.b.point.implementation.label}" if pair.b else mine


def regression_sentence(slower: Sequence[Pair], percent: float) -> str:
    """Why a gate does not let B pass: the worst by name."""

    def loss(pair: Pair) -> float:
        return 1 / pair.ratio.ratio if pair.ratio and pair.change is not Change.FAILS else math.inf

    worst = max(slower, key=loss)
    name = f"{workload_name(worst.a.point)}, {worst.a.point.implementation.label}"
    failed = sum(pair.change is Change.FAILS for pair in slower)
    said = [
        *([f"{counted_text(failed, 'point')} of A failed in B"] if failed else []),
        *(
            [f"{_are(len(slower) - failed)} slower by more than {percent:g} %"]
            if len(slower) > failed
            else []
        ),
    ]
    detail = "failed" if worst.change is Change.FAILS else f"{percent_text(loss(worst) - 1)} slower"
    return one_line(f"{' and '.join(said)}; the worst is {name}: {detail}.")


def _are(count: int) -> str:
    return f"{counted_text(count, 'point')} {'is' if count == 1 else 'are'}"
