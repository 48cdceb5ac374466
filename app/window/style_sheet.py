"""The style sheets: what a palette cannot reach."""

from PySide6.QtGui import QFont

from roofscope.app.presentation.tokens import Theme
from roofscope.profiling.paths import ASSETS

_ICONS = ASSETS / "icons"
_TITLE = 1.3  # how much larger a title is


def style_sheet(theme: Theme, font: QFont) -> str:
    """For each part of the window; ``font`` is the application's, which titles are larger than."""
    return f"""
QToolTip {{ background: {theme.raised}; color: {theme.text}; border: 1px solid {theme.border}; padding: 5px }}
QDockWidget::title {{ background: {theme.window}; padding: 5px 10px; }}
QDockWidget {{
  titlebar-close-icon: url({_image("close", theme)}); titlebar-normal-icon: url({_image("float", theme)});
}}
QHeaderView::section {{
  background: {theme.surface}; color: {theme.text_muted}; border: none;
  border-bottom: 1px solid {theme.border}; padding: 6px 8px;
}}
QTableView, QTreeView, QListView {{
  background: {theme.surface}; border: none;
  gridline-color: {theme.grid_major}; outline: none;
  selection-background-color: {theme.selected_row}; selection-color: {theme.text};
}}
QListView {{ border: 1px solid {theme.border}; border-radius: 6px; }}
QToolButton {{ border: 1px solid transparent; border-radius: 6px; padding: 4px 9px; color: {theme.text}; }}
QToolButton:hover {{ background: {theme.hover}; }}
QToolButton:checked {{ background: {theme.selected_row}; border-color: {theme.accent}; }}
QToolButton:focus {{ border-color: {theme.accent}; }}
QToolButton:disabled {{ color: {theme.axis}; }}
QPushButton {{
  background: {theme.raised}; border: 1px solid {theme.border}; border-radius: 6px; padding: 6px 14px;
}}
QPushButton:hover {{ background: {theme.hover}; }}
QPushButton:focus {{ border-color: {theme.accent}; }}
QPushButton:default {{ background: {theme.accent}; color: {theme.on_accent}; border-color: {theme.accent}; }}
QPushButton:disabled {{ background: {theme.window}; color: {theme.axis}; border-color: {theme.border}; }}
QStatusBar::item {{ border: none; }}
QLabel[role="muted"], QLabel[role="caption"] {{ color: {theme.text_muted}; }}
QLabel[role="bad"] {{ color: {theme.bad}; }}
QLabel[role="warning"] {{ color: {theme.warning}; }}
QLabel[role="section"] {{ color: {theme.text_muted}; font-weight: 600; padding-top: 6px; }}
QToolButton[role="fold"] {{
  border: none; padding: 4px 0 2px 0; color: {theme.text_muted}; font-weight: 600; text-align: left;
}}
QToolButton[role="fold"]:hover, QToolButton[role="fold"]:focus {{ color: {theme.text}; }}
QToolButton[role="fold"]:checked {{ background: transparent; border: none; }}
QLabel[role="proof"] {{ font-weight: 600; }}
QLabel[role="quote"] {{ background: {theme.window}; border-radius: 6px; padding: 6px 10px; }}
QLabel[role="title"] {{ font-size: {_title_size(font)}; font-weight: 600; }}
QLabel[role="code"] {{ background: {theme.window}; border-radius: 6px; padding: 6px 8px; }}
QFrame[role="why"] {{ background: {theme.selected_row}; border-radius: 6px; }}
QLabel[role="limit"] {{ font-weight: 600; }}
QLabel[role="limit"][state="message"] {{ font-weight: 400; }}
QFrame[role="why"][state="bad"] {{ background: {theme.window}; border: 1px solid {theme.bad}; }}
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
QToolButton[role="legend"] {{ padding: 4px 3px; }}
QToolButton[role="line"] {{ padding: 2px 6px; color: {theme.axis}; }}
QToolButton[role="line"]:checked {{
  background: transparent; border-color: transparent; color: {theme.text};
}}
QToolButton[role="line"]:hover {{ background: {theme.hover}; }}
QToolButton[role="line"]:focus {{ border-color: {theme.accent}; }}
QToolButton[role="run"] {{ background: {theme.accent}; color: {theme.on_accent}; padding: 5px 10px; }}
QToolButton[role="run"]:hover {{ border-color: {theme.text}; }}
QToolButton[role="run"]:disabled {{ background: {theme.hover}; color: {theme.axis}; }}
QToolButton[role="stop"] {{ border-color: {theme.border}; padding: 5px 8px; }}
QProgressBar {{
  background: {theme.hover}; border: none; border-radius: 3px; min-height: 6px; max-height: 6px;
}}
QProgressBar::chunk {{ background: {theme.accent}; border-radius: 3px; }}
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
  background: transparent; border: none; border-bottom: 2px solid transparent; padding: 6px 10px;
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


def _title_size(font: QFont) -> str:
    if font.pointSizeF() > 0:
        return f"{font.pointSizeF() * _TITLE:.1f}pt"
    return f"{round(font.pixelSize() * _TITLE)}px"


def _image(name: str, theme: Theme) -> str:
    """A style sheet tints no image, so each theme has its own."""
    return (_ICONS / f"{name}-on-{theme.name}.svg").as_posix()
