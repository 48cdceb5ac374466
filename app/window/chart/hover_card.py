"""The card beside the pointer: what stands there, at once and without a click."""

from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from roofscope.app.presentation.ceiling_conditions import conditions_text
from roofscope.app.presentation.comparison import speed_up_text
from roofscope.app.presentation.formatting import (
    bandwidth_text,
    flop_rate_text,
    intensity_text,
    sizes_text,
    spread_time_text,
    time_text,
)
from roofscope.app.presentation.tokens import PROVIDER_NAMES, Theme
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

_GAP = 16
_MARGIN = 6


class HoverCard(QFrame):
    """Floats over a plot; never under the pointer, never over the plot's edge."""

    def __init__(self, parent: QWidget, theme: Theme) -> None:
        super().__init__(parent)
        self._plot = parent
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        self._text.setWordWrap(True)
        self._text.setFixedWidth(320)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
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

    def show_ceiling(self, ceiling: Ceiling, at: QPointF) -> None:
        self._show(ceiling_html(ceiling, self._theme), at)

    def _show(self, html: str, at: QPointF) -> None:
        if html != self._text.text():
            self._text.setText(html)
            # The layout takes a size hint of wrapped text that is a line short where a table's cell wraps.
            self._text.setFixedHeight(self._text.heightForWidth(self._text.width()))
        self.adjustSize()
        area = self._plot.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        x = at.x() + _GAP
        if x + self.width() > area.right():
            x = at.x() - _GAP - self.width()
        y = min(max(at.y() - self.height() / 2, area.top()), area.bottom() - self.height())
        self.move(round(max(x, area.left())), round(max(y, area.top())))
        self.show()
        self.raise_()


def point_html(point: Point, session: Session, theme: Theme, speed_up: SpeedUp | None = None) -> str:
    """Name, workload, figures and the verdict of one measured point."""
    measured, work, workload = point.measured, point.job.work, point.job.workload
    if measured is None:
        return ""
    time, judged = measured.time, verdict(point, session)
    provider = point.implementation.provider
    rows = [("Time", spread_time_text(time.median_s, time.bounds_s, len(time.samples_s)))]
    if work.flop_count:
        rows.append(("Performance", flop_rate_text(point.achieved_flop_rate)))
    rows.append(("Bandwidth", bandwidth_text(point.achieved_bandwidth)))
    if work.arithmetic_intensity is not None:
        rows.append(("Intensity", intensity_text(work.arithmetic_intensity)))
    if judged.limiter is not None:
        rows.append(("Roof", distance_text(judged)))
    if speed_up is not None and not speed_up.is_baseline:
        rows.append((f"Over {speed_up.baseline.implementation.label}", speed_up_text(speed_up)))
    if measured.host_s is not None:
        rows.append(("Host time", time_text(measured.host_s)))
    chip = f'<span style="color:{theme.provider(provider)}">●</span>'
    title = f"<b>{html_text(workload.kernel)}</b> · {html_text(point.implementation.label)}"
    parts = (PROVIDER_NAMES[provider], workload.dtype.label, sizes_text(workload.sizes), point.job.regime)
    about = " · ".join(parts)
    flags = ", ".join(judged.flags)
    warning = f'<div style="color:{theme.warning}; margin-top:4px">{html_text(flags)}</div>' if flags else ""
    sentence = html_text(verdict_sentence(point, judged))
    return (
        f'<div>{chip} {title}</div><div style="color:{theme.text_muted}">{html_text(about)}</div>'
        f"{_table(rows, theme)}<div>{sentence}</div>{warning}"
    )


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
        f'<tr><td style="color:{theme.text_muted}; padding-right:14px">{html_text(name)}</td>'
        f"<td>{html_text(value)}</td></tr>"
        for name, value in rows
    )
    return f'<table cellspacing="0" style="margin-top:6px; margin-bottom:6px">{cells}</table>'
