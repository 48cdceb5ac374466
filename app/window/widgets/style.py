"""Style of the window's own widgets, by their object names; the theme styles Qt's."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QFrame, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.profiling.paths import ASSETS

_LEAST_CHARACTERS = 7
_ICONS = ASSETS / "icons"


def window_style(theme: Theme) -> str:
    """A style sheet for the main window."""
    return f"""
QLabel[role="muted"], QLabel[role="caption"] {{ color: {theme.text_muted}; }}
QLabel[role="bad"] {{ color: {theme.bad}; }}
QLabel[role="warning"] {{ color: {theme.warning}; }}
QLabel[role="section"] {{ color: {theme.text_muted}; font-weight: 600; padding-top: 6px; }}
QLabel[role="proof"] {{ font-weight: 600; }}
QLabel[role="title"] {{ font-size: 12pt; font-weight: 600; }}
QLabel[role="code"] {{ background: {theme.window}; border-radius: 6px; padding: 6px 8px; }}
QLabel[role="verdict"] {{
  background: {theme.selected_row}; border-radius: 6px; padding: 8px 10px; color: {theme.text};
}}
QLabel[role="verdict"][state="bad"] {{ background: {theme.window}; border: 1px solid {theme.bad}; }}
QFrame[role="card"] {{ background: {theme.raised}; border: 1px solid {theme.border}; border-radius: 8px; }}
QFrame[role="card"][state="bad"] {{ border-color: {theme.bad}; }}
QFrame[role="card"][state="example"] {{ border-color: {theme.accent}; }}
QFrame#planBar {{ background: {theme.surface}; border: none; }}
QToolBar {{
  background: {theme.surface}; border: none; border-bottom: 1px solid {theme.border}; padding: 0; spacing: 0;
}}
QLineEdit, QComboBox, QPlainTextEdit {{
  background: {theme.surface}; border: 1px solid {theme.border}; border-radius: 6px; padding: 4px 8px;
  selection-background-color: {theme.accent}; selection-color: {theme.on_accent};
}}
QLineEdit:focus, QComboBox:focus, QPlainTextEdit:focus {{ border-color: {theme.accent}; }}
QLineEdit[state="bad"] {{ border-color: {theme.bad}; }}
QComboBox::drop-down {{ border: none; width: 22px; }}
QComboBox::down-arrow {{ image: url({_image("down", theme)}); width: 14px; height: 14px; }}
QTreeView::indicator {{
  width: 14px; height: 14px; border: 1px solid {theme.axis}; border-radius: 4px; background: {theme.surface};
}}
QTreeView::indicator:checked {{
  background: {theme.accent}; border-color: {theme.accent}; image: url({_image("tick", theme)});
}}
QTreeView::indicator:indeterminate {{
  background: {theme.accent}; border-color: {theme.accent}; image: url({_image("partly", theme)});
}}
QTreeView::indicator:disabled {{ background: {theme.window}; border-color: {theme.border}; image: none; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{ background: {theme.border}; border-radius: 3px; margin: 2px; }}
QScrollBar::handle:vertical {{ min-height: 28px; }}
QScrollBar::handle:horizontal {{ min-width: 28px; }}
QScrollBar::handle:hover {{ background: {theme.axis}; }}
QAbstractScrollArea::corner {{ background: transparent; border: none; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QComboBox QAbstractItemView {{ background: {theme.raised}; border: 1px solid {theme.border}; padding: 2px; }}
QToolButton[role="segment"] {{ border: 1px solid {theme.border}; padding: 4px 6px; }}
QToolButton[role="segment"]:checked {{ background: {theme.selected_row}; border-color: {theme.accent}; }}
QToolButton[role="segment"]:disabled {{ color: {theme.axis}; }}
QToolButton[role="run"] {{ background: {theme.accent}; color: {theme.on_accent}; padding: 5px 10px; }}
QToolButton[role="run"]:hover {{ border-color: {theme.text}; }}
QToolButton[role="run"]:disabled {{ background: {theme.hover}; color: {theme.axis}; }}
QToolButton[role="stop"] {{ border-color: {theme.border}; padding: 5px 8px; }}
QProgressBar {{
  background: {theme.hover}; border: none; border-radius: 3px; min-height: 6px; max-height: 6px;
}}
QProgressBar::chunk {{ background: {theme.accent}; border-radius: 3px; }}
QTreeView, QTableView {{ border-radius: 0px; border: none; }}
QTreeView::item {{ padding: 3px 2px; }}
QTableView::item {{ padding: 0 6px; }}
QTreeView::item:hover, QTableView::item:hover {{ background: {theme.hover}; }}
QTreeView::item:selected, QTableView::item:selected {{
  background: {theme.selected_row}; color: {theme.text};
}}
QFrame[role="card"] QPushButton {{ padding: 3px 10px; }}
QScrollArea {{ border: none; background: {theme.surface}; }}
QWidget#pane {{ background: {theme.surface}; }}
QStatusBar {{ background: {theme.surface}; border-top: 1px solid {theme.border}; }}
QTabBar::tab {{
  background: transparent; border: none; border-bottom: 2px solid transparent; padding: 6px 14px;
  color: {theme.text_muted};
}}
QTabBar::tab:selected {{ color: {theme.text}; border-bottom-color: {theme.accent}; }}
QTabBar::tab:focus {{ color: {theme.accent}; }}
QTabWidget::pane {{ border: none; }}
QMenuBar {{ background: {theme.surface}; border-bottom: 1px solid {theme.border}; padding: 2px; }}
QMenuBar::item {{ padding: 4px 10px; border-radius: 4px; background: transparent; }}
QMenuBar::item:selected {{ background: {theme.hover}; }}
QMenu {{ background: {theme.raised}; border: 1px solid {theme.border}; padding: 4px; }}
QMenu::item {{ padding: 5px 24px 5px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {theme.selected_row}; }}
QMenu::item:disabled {{ color: {theme.axis}; }}
QMenu::separator {{ height: 1px; background: {theme.border}; margin: 4px 8px; }}
QMenu::icon {{ padding-left: 8px; }}
"""


def _image(name: str, theme: Theme) -> str:
    """A style sheet tints no image, so each theme has its own."""
    return (_ICONS / f"{name}-on-{theme.name}.svg").as_posix()


def label(text: str = "", role: str = "", *, wraps: bool = False) -> QLabel:
    """A label with one of the roles above; its text can be selected where it wraps."""
    made = QLabel(text)
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
    box = QComboBox()
    box.setAccessibleName(name)
    box.setToolTip(tip)
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


def placeholder(text: str) -> QLabel:
    """What an empty pane says to do next."""
    made = label(text, "muted", wraps=True)
    made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    made.setMargin(24)
    return made
