"""The legend: a button a provider, which shows and hides its points."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QLineF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from roofscope.app.presentation.tokens import PROVIDER_NAMES, Theme
from roofscope.app.window.widgets.icons import provider_icon
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.planning.spec import Provider

_MARK = QSize(16, 16)
_DIMMED = 150  # of 255: how far the surface covers what is switched off
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class LegendEntry(QToolButton):
    """A click, or Space, toggles; a double click, Alt and a click, or Enter shows this provider only."""

    toggle_wanted = Signal(object)  # Provider
    only_wanted = Signal(object, bool)  # Provider, whether a toggle of the same gesture came before

    def __init__(self, provider: Provider, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.provider = provider
        self.is_on = True
        self._theme = theme
        self.setProperty("role", "legend")
        self.setText(PROVIDER_NAMES[provider])
        self.setIcon(provider_icon(provider, theme))
        self.setIconSize(_MARK)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.clicked.connect(lambda: self.toggle_wanted.emit(provider))
        self.set_on(True)

    def set_on(self, on: bool) -> None:
        self.is_on = on
        name = PROVIDER_NAMES[self.provider]
        self.setAccessibleName(f"{name}: {'shown' if on else 'hidden'}")
        verb = "hides" if on else "shows"
        self.setToolTip(
            tip_text(
                f"A click {verb} the points of {name}; a double click, Alt+click or Enter shows no others"
            )
        )
        self.setAccessibleDescription(f"Space {verb} it, Enter shows no others")
        self.update()

    def set_named(self, named: bool) -> None:
        """With its name, or where there is no room for that with its mark alone."""
        style = Qt.ToolButtonStyle
        self.setToolButtonStyle(style.ToolButtonTextBesideIcon if named else style.ToolButtonIconOnly)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.AltModifier and self.isDown():
            self.setDown(False)
            self.only_wanted.emit(self.provider, False)
            return
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.only_wanted.emit(self.provider, True)  # the first of the two clicks has toggled it

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER:
            self.only_wanted.emit(self.provider, False)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.is_on:
            return
        painter = QPainter(self)
        inside = self.rect().adjusted(3, 3, -3, -3)
        surface = QColor(self._theme.surface)
        surface.setAlpha(_DIMMED)
        painter.fillRect(inside, surface)
        painter.setPen(QPen(QColor(self._theme.text_muted), 1.2))
        middle = self.rect().center().y() + 0.5
        painter.drawLine(QLineF(inside.left() + 2, middle, inside.right() - 2, middle))


class Legend(QWidget):
    """The entries in a row."""

    toggle_wanted = Signal(object)  # Provider
    only_wanted = Signal(object, bool)  # as an entry's

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._entries: dict[Provider, LegendEntry] = {}
        self._widths: dict[bool, int] = {}  # with names, and without
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(2)
        self.setAccessibleName("Providers")

    @property
    def entries(self) -> dict[Provider, LegendEntry]:
        return self._entries

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        providers, hidden = tuple(self._entries), self._hidden
        self._remove()
        self.show_providers(providers, hidden)

    def show_providers(self, providers: Sequence[Provider], hidden: frozenset[Provider]) -> None:
        """One entry each, in this order; those hidden are struck through."""
        if tuple(self._entries) != tuple(providers):
            self._remove()
            for provider in providers:
                entry = self._entries[provider] = LegendEntry(provider, self._theme)
                entry.toggle_wanted.connect(self.toggle_wanted)
                entry.only_wanted.connect(self.only_wanted)
                self._row.addWidget(entry)
        for provider, entry in self._entries.items():
            if entry.is_on == (provider in hidden):
                entry.set_on(provider not in hidden)

    def set_named(self, named: bool) -> None:
        for entry in self._entries.values():
            entry.set_named(named)

    def width_needed(self, *, named: bool) -> int:
        """Leaves the entries with names or without, as asked for last."""
        if named not in self._widths:
            self.set_named(named)
            widths = [entry.sizeHint().width() for entry in self._entries.values()]
            self._widths[named] = sum(widths) + self._row.spacing() * max(len(widths) - 1, 0)
        return self._widths[named]

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._widths.clear()

    @property
    def _hidden(self) -> frozenset[Provider]:
        return frozenset(provider for provider, entry in self._entries.items() if not entry.is_on)

    def _remove(self) -> None:
        for entry in self._entries.values():
            self._row.removeWidget(entry)
            entry.hide()
            entry.deleteLater()
        self._entries = {}
        self._widths.clear()
