"""On top of the details: what limits a point, its cost, evidence and next step; or why it has no time."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from roofscope.app.presentation.why import TITLES, Why
from roofscope.app.presentation.why_not import WhyNot
from roofscope.app.window.widgets.labels import BREAK, breakable, label, set_state

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
        self._names: list[QLabel] = []
        self._sentences: list[QLabel] = []
        for row, title in enumerate(TITLES):
            name = label(title, "muted")
            self._names.append(name)
            name.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            sentence = label("", "limit" if row == 0 else "", wraps=True)
            sentence.setAccessibleName(title)
            sentence.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            grid.addWidget(name, row, 0)
            grid.addWidget(sentence, row, 1)
            self._sentences.append(sentence)

    def show_why(self, why: Why | WhyNot | None) -> None:
        """Four sentences of a point with a time, three of one without."""
        self.setVisible(why is not None)
        rows = why.titled if why else ()
        set_state(self._sentences[0], "" if isinstance(why, Why) else "message")  # which may be long
        for place, (name, shown) in enumerate(zip(self._names, self._sentences, strict=True)):
            title, sentence = rows[place] if place < len(rows) else ("", "")
            for each, text in ((name, title), (shown, sentence)):
                each.setText(breakable(text))
                each.setVisible(bool(text))
            shown.setAccessibleName(title)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(shown.text().replace(BREAK, "") for shown in self._sentences if shown.text())
