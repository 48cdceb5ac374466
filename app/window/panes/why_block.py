"""Four sentences on top of the details: what limits the point, its cost, the evidence, the next step."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from roofscope.app.presentation.why import TITLES, Why
from roofscope.app.window.widgets.labels import label

_SPACING = 10


class WhyBlock(QFrame):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "why")
        self.setAccessibleName("Why it is there")
        grid = QGridLayout(self)
        grid.setContentsMargins(10, 8, 10, 8)
        grid.setHorizontalSpacing(_SPACING)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        self._sentences: list[QLabel] = []
        for row, title in enumerate(TITLES):
            name = label(title, "muted")
            name.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            sentence = label("", "limit" if row == 0 else "", wraps=True)
            sentence.setAccessibleName(title)
            sentence.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            grid.addWidget(name, row, 0)
            grid.addWidget(sentence, row, 1)
            self._sentences.append(sentence)

    def show_why(self, why: Why | None) -> None:
        """Nothing for a point without a time."""
        self.setVisible(why is not None)
        if why:
            for shown, (_, sentence) in zip(self._sentences, why.titled, strict=True):
                shown.setText(sentence)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(shown.text() for shown in self._sentences)
