"""The card beside the pointer: what stands there, at once and without a click."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from roofscope.app.presentation.ceiling_conditions import conditions_text
from roofscope.app.presentation.compare.marks_text import mark_text
from roofscope.app.presentation.comparison import speed_up_short_text
from roofscope.app.presentation.formatting import (
    bandwidth_text,
    flop_rate_text,
    intensity_text,
    percent_text,
    size_and_fill_text,
    spread_time_text,
    time_text,
)
from roofscope.app.presentation.point_row import status_text
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.verdict_text import (
    ceiling_value_text,
    distance_text,
    limit_name,
    verdict_sentence,
)
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.plain_text import html_text
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Ceiling

_WIDTH = 220
_INSIDE = 10
_MARGIN = 8
_MOST = 8  # of several points within reach


class HoverCard(QFrame):
    """Docked in a corner of the plot, opposite the pointer: never over what it speaks of."""

    def __init__(self, parent: QWidget, theme: Theme) -> None:
        super().__init__(parent)
        self._plot = parent
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setWordWrap(True)
        self._text.setFixedWidth(_WIDTH - 2 * _INSIDE)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(_INSIDE - 1, 8, _INSIDE - 1, 8)  # beside an edge of one pixel
        layout.addWidget(self._text)
        self._theme = theme
        self.set_theme(theme)
        self.hide()

    @property
    def html(self) -> str:
        return self._text.text()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        edge = f"border: 1px solid {theme.border}; border-radius: 8px;"
        self.setStyleSheet(f"HoverCard {{ background: {theme.raised}; {edge} }}")

    def show_point(self, point: Point, session: Session, at: QPointF, speed_up: SpeedUp | None) -> None:
        self._show(point_html(point, session, self._theme, speed_up), at)

    def show_points(self, points: Sequence[Point], session: Session, at: QPointF) -> None:
        """List those that stand within reach of the pointer, the nearest first."""
        self._show(points_html(points, session, self._theme), at)

    def show_ceiling(self, ceiling: Ceiling, at: QPointF) -> None:
        self._show(ceiling_html(ceiling, self._theme), at)

    def _show(self, html: str, at: QPointF) -> None:
        if html != self._text.text():
            self._text.setText(html)
            self._text.ensurePolished()  # else its first text is measured in letters that are not yet its own
            # The layout takes a size hint of wrapped text that is a line short where a table's cell wraps.
            self._text.setFixedHeight(self._text.heightForWidth(self._text.width()))
        self.adjustSize()
        self.move(self._corner(at))
        self.show()
        self.raise_()

    def _corner(self, at: QPointF) -> QPoint:
        """The upper one on the other side; in a plot too narrow for two sides, above or below the pointer."""
        area = self._plot.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        left, right = area.left(), max(area.right() + 1 - self.width(), area.left())
        top, bottom = area.top(), max(area.bottom() + 1 - self.height(), area.top())
        is_left = at.x() > area.center().x()
        x = left if is_left else right
        covers = x - _MARGIN <= at.x() <= x + self.width() + _MARGIN
        return QPoint(x, bottom if covers and at.y() < area.center().y() else top)


def point_html(point: Point, session: Session, theme: Theme, speed_up: SpeedUp | None = None) -> str:
    """Name, workload, figures and the verdict of one measured point."""
    measured, work, workload = point.measured, point.job.work, point.job.workload
    if measured is None:
        return ""
    time, judged = measured.time, verdict(point, session)
    rows = [("Time", spread_time_text(time.median_s, time.bounds_s, len(time.samples_s)))]
    if work.flop_count:
        rows.append(("Rate", flop_rate_text(point.achieved_flop_rate)))
    rows.append(("Bandwidth", bandwidth_text(point.achieved_bandwidth)))
    if work.arithmetic_intensity is not None:
        rows.append(("Intensity", intensity_text(work.arithmetic_intensity)))
    if judged.limiter is not None:
        rows.append(("Roof", distance_text(judged)))
    if measured.host_s is not None:
        rows.append(("Host time", time_text(measured.host_s)))
    about = " · ".join((workload.dtype.label, size_and_fill_text(workload), point.job.regime))
    beside = ""
    if speed_up is not None and not speed_up.is_baseline:
        beside = f"{speed_up_short_text(speed_up)} over {speed_up.baseline.implementation.label}"
    title = f"<b>{html_text(workload.kernel)}</b> · {html_text(point.implementation.label)}"
    flags = ", ".join(judged.flags)
    warning = f'<div style="color:{theme.warning}; margin-top:4px">{html_text(flags)}</div>' if flags else ""
    sentence = html_text(verdict_sentence(point, judged))
    return (
        f"<div>{_chip(point, theme)} {title}</div>"
        f'<div style="color:{theme.text_muted}">{html_text(about)}</div>'
        f"{_table(rows, theme)}<div>{html_text(beside)}</div><div>{sentence}</div>{warning}"
        f"{_mark_html(point, session, theme)}"
    )


def points_html(points: Sequence[Point], session: Session, theme: Theme) -> str:
    """A line each with name, time and share of the roof, under the workload that they have in common."""
    groups: dict[str, list[Point]] = {}
    for point in points[:_MOST]:
        workload = point.job.workload
        name = f"{workload.kernel} {workload.dtype.label} {size_and_fill_text(workload)}"
        groups.setdefault(name, []).append(point)
    parts = [f"<div><b>{len(points)} points here</b></div>"]
    for name, members in groups.items():
        parts.append(f'<div style="color:{theme.text_muted}; margin-top:5px">{html_text(name)}</div>')
        lines = "".join(_line_html(point, session, theme) for point in members)
        parts.append(f'<table cellspacing="0" width="100%">{lines}</table>')
    if len(points) > _MOST:
        parts.append(f'<div style="margin-top:5px">and {len(points) - _MOST} more</div>')
    return "".join(parts)


def _line_html(point: Point, session: Session, theme: Theme) -> str:
    time = time_text(point.measured.time.median_s) if point.measured else status_text(point)
    share = percent_text(verdict(point, session).fraction_of_roof)
    name = f"{_chip(point, theme)} {html_text(point.implementation.label)}"
    return (
        f'<tr><td>{name}</td><td align="right" style="padding-left:6px">{html_text(time)}</td>'
        f'<td align="right" style="padding-left:6px">{html_text(share)}</td></tr>'
    )


def _mark_html(point: Point, session: Session, theme: Theme) -> str:
    """The user's tags and note."""
    mark = session.marks.get(point.number)
    said = html_text(mark_text(mark)) if mark else ""
    return f'<div style="color:{theme.accent}; margin-top:4px">{said}</div>' if said else ""


def _chip(point: Point, theme: Theme) -> str:
    return f'<span style="color:{theme.provider(point.implementation.provider)}">●</span>'


def ceiling_html(ceiling: Ceiling, theme: Theme) -> str:
    """Name, value and provenance of a ceiling."""
    rows = [("Provenance", str(ceiling.source)), ("Recorded", ceiling.recorded_at[:16].replace("T", " "))]
    if conditions := conditions_text(ceiling):
        rows.append(("Held at", conditions))
    return (
        f"<div><b>{html_text(limit_name(ceiling))}</b> · {html_text(ceiling_value_text(ceiling))}</div>"
        f'{_table(rows, theme)}<div style="color:{theme.text_muted}">{html_text(ceiling.method)}</div>'
    )


def _table(rows: list[tuple[str, str]], theme: Theme) -> str:
    cells = "".join(
        f'<tr><td style="color:{theme.text_muted}; padding-right:8px">{html_text(name)}</td>'
        f"<td>{html_text(value)}</td></tr>"
        for name, value in rows
    )
    return f'<table cellspacing="0" style="margin-top:6px; margin-bottom:6px">{cells}</table>'
