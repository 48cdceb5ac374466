"""What the plan bar is made of: its line, its box, and its buttons."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QToolButton

from roofscope.app.window.habits import MOST_LETTERS
from roofscope.app.window.widgets.choice_box import ChoiceBox
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.roofline.architecture import ARCHITECTURES, gpu_of

TIP = Qt.ItemDataRole.ToolTipRole


def own_sizes_line() -> QLineEdit:
    line = QLineEdit()
    line.setAccessibleName("Own sizes")
    line.setMaxLength(MOST_LETTERS)
    line.setPlaceholderText("own: rows=4096")
    line.setToolTip(
        "Own sizes; several lists split by a semicolon. 4Ki is 4096, 1M a million; a range such as "
        "n=2^10..2^24 gives a sweep: it doubles, or steps as in n=256..4Ki+128"
    )
    line.setClearButtonEnabled(True)
    line.setMinimumWidth(84)
    line.setMaximumWidth(260)
    line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return line


def architecture_box() -> QComboBox:
    box = ChoiceBox()
    box.setAccessibleName("GPU code on the CPU")
    box.setToolTip(
        tip_text(
            "Without a GPU: Triton versions are verified in Triton's interpreter, Triton and CUDA are "
            "compiled for this architecture. Neither is timed."
        )
    )
    box.addItem("no GPU code", "")
    for architecture in ARCHITECTURES:
        gpu = gpu_of(architecture)
        box.addItem(f"GPU code {architecture}", architecture)
        box.setItemData(box.count() - 1, tip_text(f"Such as {gpu.label}") if gpu else "", TIP)
    box.setMinimumContentsLength(13)
    box.setMaximumWidth(200)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.hide()
    return box


def segment(text: str, tip: str, *, on: bool = False) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip_text(tip))
    button.setAccessibleName(f"{text}: {tip}")
    button.setCheckable(True)
    button.setChecked(on)
    button.setProperty("role", "segment")
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button


def action_button(action: QAction, role: str) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(action)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setProperty("role", role)
    button.setAccessibleName(action.text().replace("&", ""))
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button
