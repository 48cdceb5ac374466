"""Outcomes as lines: one as each arrives, and at the end what has no time, with its reason."""

import textwrap
from collections.abc import Iterable, Sequence

from rich.markup import escape

from roofscope.app.presentation.examined import examined_figures, examined_title
from roofscope.app.presentation.failure_log import telling_lines
from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    flop_rate_text,
    size_and_fill_text,
    spread_time_text,
)
from roofscope.app.presentation.tuning import tuned_sentences
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.verdict import flags_of
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Cancelled, Examined, Failed, Measured, Skipped
from roofscope.profiling.results.session import Point, Session

_LOG_LINES = 5
_FEW_TUNED = 6
_INDENT = "    "
_NO_BREAK = "\u00a0"


class OutcomeLines:
    """The lines of one run. A reason that held for an implementation of the same provider is not repeated."""

    def __init__(self, width: int, session: Session) -> None:
        self._width = width
        self._session = session
        self._said: set[tuple[Provider, str]] = set()

    def of(self, point: Point) -> str | None:
        """As rich markup; None for a skip whose reason is known."""
        if isinstance(point.outcome, Skipped):
            reason = (point.implementation.provider, point.outcome.message)
            if reason in self._said:
                return None
            self._said.add(reason)
        return outcome_line(point, self._width, self._session)


def outcome_line(point: Point, width: int, session: Session) -> str:
    """One outcome, as rich markup. Figures go below the name where both are too long for one line.

    A tick says that the time may be relied on, so one that the session's ceilings or the profiler rule out
    has none, but the flags that say why.
    """
    where = escape(f"{point.label} {workload_text(point)}{on_device_text(point, session)}")
    match point.outcome:
        case Measured(time=time):
            warnings = [str(flag) for flag in flags_of(point, session) if flag in WARNING_FLAGS]
            sign = "[yellow]![/]" if warnings else "[green]✓[/]"
            text = spread_time_text(time.median_s, time.bounds_s, len(time.samples_s))
            rates = [bandwidth_text(point.achieved_bandwidth), rate_text(point)]
            figures = [text, *(rate for rate in rates if rate != MISSING), *warnings]
            return f"{sign} {where}:{_figures(figures, width, width - len(f'! {where}:'))}"
        case Examined() as examined:
            figures = [examined_title(examined), *examined_figures(examined)]
            return f"[green]○[/] {where}:{_figures(figures, width, width - len(f'○ {where}:'))}"
        case Skipped(message=message):
            return f"[dim]– {where}: {escape(message)}[/]"
        case Failed(message=message, kind=kind, log=log):
            return f"[red]✗[/] {where}: {kind}: {escape(message)}{_end_of(log)}"
        case Cancelled(message=message):
            return f"[yellow]–[/] {where}: {escape(message)}"


def failure_lines(points: Iterable[Point], session: Session) -> list[str]:
    """A line for each implementation that failed or was stopped: it has no time, but a reason."""
    lines: list[str] = []
    for point in points:
        where = f"{point.label} {workload_text(point)}{on_device_text(point, session)}"
        if isinstance(point.outcome, Failed):
            lines.append(f"✗ {where}: {point.outcome.kind}: {point.outcome.message}")
        elif isinstance(point.outcome, Cancelled):
            lines.append(f"– {where}: {point.outcome.message}")
    return lines


def skip_lines(points: Iterable[Point]) -> list[str]:
    """One line a provider and reason: ``triton: 38 implementations skipped: This is a CPU``."""
    groups: dict[tuple[Provider, str], dict[str, Point]] = {}
    for point in points:
        if isinstance(point.outcome, Skipped):
            reason = (point.implementation.provider, point.outcome.message)
            groups.setdefault(reason, {}).setdefault(point.implementation.key, point)
    return [
        f"{_skipped(provider, list(by_key.values()))} skipped: {message}"
        for (provider, message), by_key in groups.items()
    ]


def unverified_lines(points: Iterable[Point]) -> list[str]:
    """A line for each measured point whose results are not known to be right at an odd size."""
    return [
        f"! {point.label} {workload_text(point)}: {point.measured.verification.unverified}"
        for point in points
        if point.measured and point.measured.verification.unverified
    ]


def tuned_lines(points: Iterable[Point]) -> list[str]:
    """A line for each tuned point: its winner beside the runner-up. Of many only where the tuner missed."""
    said = [(point, *each) for point in points for each in tuned_sentences(point)]
    found = [
        f"{'!' if is_missed else '·'} {point.label} {workload_text(point)} tuned: {sentence}"
        for point, sentence, is_missed in said
        if is_missed or len(said) <= _FEW_TUNED
    ]
    if len(found) < len(said):
        found.append(f"· {len(said)} choices of autotuners; `roofscope tuning SESSION` has what was tried.")
    return found


def shortfall(points: Sequence[Point], *, planned: int) -> str:
    """What is missing of the plan, as a sentence; "" where all of it was done."""
    counts = {
        "failed": sum(isinstance(point.outcome, Failed) for point in points),
        "stopped": sum(isinstance(point.outcome, Cancelled) for point in points),
        "not run": planned - len(points),
    }
    missing = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    if missing:
        return f"{missing}, of {planned}."
    if not any(point.measured or isinstance(point.outcome, Examined) for point in points):
        return "Nothing was measured: all was skipped." if planned else ""
    return ""


def workload_text(point: Point) -> str:
    """``fp32 32Ki × 4Ki``."""
    return f"{point.job.workload.dtype.label} {size_and_fill_text(point.job.workload)}"


def on_device_text(point: Point, session: Session) -> str:
    """`` on cuda:1`` where the session has several devices, else nothing."""
    return f" on {point.job.device}" if len(session.devices) > 1 else ""


def rate_text(point: Point) -> str:
    """Nothing for a copy, as in the window: it computes nothing."""
    return flop_rate_text(point.achieved_flop_rate or None)


def _skipped(provider: Provider, points: list[Point]) -> str:
    return points[0].label if len(points) == 1 else f"{provider}: {len(points)} implementations"


def _figures(figures: list[str], width: int, room: int) -> str:
    """After the name, or in lines of their own, parted between figures only."""
    line = f" {', '.join(figures)}"
    if len(line) <= room:
        return line
    glued = ", ".join(figure.replace(" ", _NO_BREAK) for figure in figures)
    below = textwrap.wrap(glued, width, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return "\n" + "\n".join(below).replace(_NO_BREAK, " ")


def _end_of(log: str) -> str:
    """What a compiler or Python said last, which is where it names the line at fault."""
    lines = [line for line in telling_lines(log) if line.strip()][-_LOG_LINES:]
    return "".join(f"\n{_INDENT}[dim]{escape(line)}[/]" for line in lines)
