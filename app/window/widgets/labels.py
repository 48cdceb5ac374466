"""Labels, buttons and frames as every pane has them; the style sheet knows their roles."""

import re
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QFrame, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from roofscope.app.window.widgets.choice_box import ChoiceBox
from roofscope.profiling.plain_text import html_text, visible

_LEAST_CHARACTERS = 7
_LONG_WORD = re.compile(r"(\S{20})(?=\S)")
_DIGITS = re.compile(r"[0-9a-f]+")
BREAK = "\u200b"  # a space of no width
_MOST_PLACEHOLDER = 600  # characters


def tip_text(text: str) -> str:
    """A tool tip that is plain text: Qt takes what looks like HTML for HTML, and would load its pictures."""
    shown = visible(text)
    return f'<p style="white-space: pre-wrap">{html_text(shown)}</p>' if "<" in shown else shown


def label(text: str = "", role: str = "", *, wraps: bool = False) -> QLabel:
    """A label with one of the roles above; its text can be selected where it wraps."""
    return _styled(QLabel(text), role, wraps=wraps)


def _styled(made: QLabel, role: str, *, wraps: bool) -> QLabel:
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setIndent(0)
    if role:
        made.setProperty("role", role)
    if wraps:
        made.setWordWrap(True)
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
    return made


def choice_box(name: str, tip: str) -> QComboBox:
    """A box as wide as its longest entry where there is room, and far narrower where there is none."""
    box = ChoiceBox()
    box.setAccessibleName(name)
    box.setToolTip(tip_text(tip))
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    box.setMinimumContentsLength(_LEAST_CHARACTERS)  # else the longest entry is its least width
    return box


def as_pane(widget: QWidget) -> None:
    """Give a widget the surface that panes have."""
    widget.setObjectName("pane")
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


def card(state: str) -> QFrame:
    frame = QFrame()
    frame.setProperty("role", "card")
    frame.setProperty("state", state)
    return frame


def set_state(widget: QWidget, state: str) -> None:
    """Give the style another state, such as "bad"."""
    if widget.property("state") != state:
        widget.setProperty("state", state)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class NothingFound(QWidget):
    """What a list says when its filter matches nothing, with a way out."""

    def __init__(self, what: str, clear: Callable[[], object]) -> None:
        super().__init__()
        self._what = what
        self._text = placeholder("")
        button = QPushButton("Clear the filter")
        button.setAccessibleName(f"Clear the filter: {what}")
        button.clicked.connect(clear)
        layout = QVBoxLayout(self)
        layout.addStretch(1)
        layout.addWidget(self._text)
        layout.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)

    def tell(self, filter_text: str) -> None:
        self._text.setText(f"No {self._what} matches “{filter_text.strip()}”.")


def push_button(text: str, tip: str, name: str = "") -> QPushButton:
    """``name`` is for those who do not see it, where the text alone does not say enough."""
    button = QPushButton(text)
    button.setAccessibleName(name or text)
    button.setToolTip(tip_text(tip))
    return button


def action_button(action: QAction) -> QPushButton:
    """A button that is the action: its words, its tool tip, enabled as it is."""
    button = QPushButton()
    _show_action(action, button)
    button.setEnabled(action.isEnabled())
    button.clicked.connect(action.trigger)
    action.enabledChanged.connect(button.setEnabled)
    action.changed.connect(lambda: _show_action(action, button))
    return button


def _show_action(action: QAction, button: QPushButton) -> None:
    button.setText(action.text().replace("&", ""))
    button.setAccessibleName(button.text())
    button.setToolTip(action.toolTip())


def breakable(text: str) -> str:
    """With places to break in words too long for a narrow pane, such as paths; hex digits stay whole."""
    return " ".join(
        word if _DIGITS.fullmatch(word) else _LONG_WORD.sub(f"\\1{BREAK}", word) for word in text.split(" ")
    )


class Placeholder(QLabel):
    """What an empty pane says to do next; no text of a file, however long, makes the window larger."""

    def setText(self, text: str) -> None:
        broken = breakable(text[:_MOST_PLACEHOLDER])
        super().setText(broken if len(text) <= _MOST_PLACEHOLDER else f"{broken}…")


def placeholder(text: str) -> QLabel:
    """In the middle of an empty pane; with the style of a wrapping label."""
    made = _styled(Placeholder(), "muted", wraps=True)
    made.setText(text)
    made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    made.setMargin(24)
    return made
