"""What a trace that is recorded next holds beside kernels and operators."""

from msgspec.structs import replace
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.planning.trace_options import TraceOptions

_CHOICES = (
    ("shapes", "Shapes", "Of operators' arguments: the roofline of the trace needs them"),
    ("stacks", "Python stacks", "The Python functions that called; several times as many events"),
    ("memory", "Memory", "Each allocation"),
)


class RecordOptions(QPushButton):
    """A menu with ticks; its words say what is ticked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.options = TraceOptions()
        self.setAccessibleName("What a recorded trace holds")
        self.setToolTip(tip_text("What a recorded trace holds; each costs some microseconds an operator"))
        menu = QMenu(self)
        menu.setAccessibleName("What a recorded trace holds")
        menu.setToolTipsVisible(True)
        for field, text, tip in _CHOICES:
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(getattr(self.options, field))
            action.setToolTip(tip_text(tip))
            action.toggled.connect(lambda is_on, name=field: self._set(name, is_on=is_on))
        self.setMenu(menu)
        self._say()

    def _set(self, field: str, *, is_on: bool) -> None:
        self.options = replace(self.options, **{field: is_on})
        self._say()

    def _say(self) -> None:
        label = self.options.label
        self.setText(f"With {label}" if label else "Bare")
