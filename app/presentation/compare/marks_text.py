"""Pins, notes and tags as text."""

from roofscope.app.presentation.formatting import size_and_fill_text, time_text
from roofscope.profiling.analysis.comparison import comparable
from roofscope.profiling.plain_text import one_line, visible
from roofscope.profiling.results.marks import Mark, pins_of
from roofscope.profiling.results.session import Point, Session


def workload_name(point: Point) -> str:
    """Such as ``softmax bf16 32Ki × 4Ki``, with the regime where that is not the usual one."""
    workload, regime = point.job.workload, point.job.regime
    name = f"{workload.kernel} {workload.dtype.label} {size_and_fill_text(workload)}"
    return name if regime == "burst" else f"{name}, {regime}"


def why_no_pin(point: Point) -> str:
    """Why it cannot be pinned, as a sentence; "" where it can. A pin is a baseline, and so needs a time."""
    if point.measured:
        return ""
    return f"Point {point.number} has no time to compare others with; give it a note or tags, without a pin."


def mark_text(mark: Mark) -> str:
    """Tags and note in a line."""
    return one_line(" · ".join([*mark.tags, *([mark.note] if mark.note else [])]))


def pinned_text(mark: Mark) -> str:
    """Pin, tags and note in a line."""
    return " · ".join(filter(None, ("pinned" if mark.is_pinned else "", mark_text(mark))))


def mark_block(session: Session, point: Point) -> str:
    """What the user said of a point, a line each: that it is pinned, its tags, its note as it was written."""
    mark = session.marks.get(point.number, Mark())
    pins = pins_of(session.marks)
    pinned_points = (one for one in session.points if one.number in pins)
    own = {one.number for one in pinned_points if one.measured and comparable(one) == comparable(point)}
    is_first = next((number for number in pins if number in own), None) == point.number
    pinned = f"Pinned{': the baseline of its workload' if is_first else ''}" if mark.is_pinned else ""
    tags = one_line(f"Tags: {', '.join(mark.tags)}") if mark.tags else ""
    return "\n".join(filter(None, (pinned, tags, visible(mark.note))))


def mark_lines(session: Session) -> list[str]:
    """A line for each point with a mark: the pins in their order, then the others."""
    points = {point.number: point for point in session.points}
    pins = pins_of(session.marks)
    lines: list[str] = []
    for number in (*pins, *sorted(set(session.marks) - set(pins))):
        point, mark = points.get(number), session.marks[number]
        if point is None:
            continue
        state = f"pin {pins.index(number) + 1}" if number in pins else "not pinned"
        time = time_text(point.measured.time.median_s) if point.measured else "no time"
        parts = [f"{number}: {workload_name(point)}, {point.implementation.label}, {time}, {state}"]
        lines.append(one_line(" · ".join([*parts, *([mark_text(mark)] if mark_text(mark) else [])])))
    return lines
