"""Puts the keyboard into the next pane that shows."""

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget


def cycle(panes: Iterable[QWidget], step: int) -> None:
    """From the pane that has the keyboard to the one ``step`` further; from none of them to the first."""
    stops = [(pane, target) for pane in panes if (target := _first_target(pane))]
    if not stops:
        return
    focused = QApplication.focusWidget()
    at = next((n for n, (pane, _) in enumerate(stops) if focused and _holds(pane, focused)), None)
    index = 0 if at is None else (at + step) % len(stops)
    stops[index][1].setFocus(Qt.FocusReason.TabFocusReason)


def _first_target(pane: QWidget) -> QWidget | None:
    """What takes the keyboard in a pane; None where it is hidden or lies behind another one."""
    if not pane.isVisible() or pane.visibleRegion().isEmpty():
        return None
    widgets = [pane, *pane.findChildren(QWidget)]
    return next((widget for widget in widgets if _takes_keys(widget)), None)


def _takes_keys(widget: QWidget) -> bool:
    takes = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return takes and widget.isEnabled() and widget.isVisible()


def _holds(pane: QWidget, widget: QWidget) -> bool:
    return pane is widget or pane.isAncestorOf(widget)
