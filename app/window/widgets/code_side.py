"""One half of a page of code: a sheet, or the sentence that says why there is none."""

from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from roofscope.app.presentation.source.sheet import Sheet
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.widgets.code_view import CodeView
from roofscope.app.window.widgets.labels import placeholder


class CodeSide(QWidget):
    def __init__(self, name: str, theme: Theme) -> None:
        super().__init__()
        self.view = CodeView(name, theme)
        self._said = placeholder("")
        self._stack = QStackedWidget()
        self._stack.addWidget(self._said)
        self._stack.addWidget(self.view)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    @property
    def said(self) -> str:
        return "" if self.sheet else self._said.text()

    @property
    def sheet(self) -> Sheet | None:
        return self.view.sheet if self._stack.currentWidget() is self.view else None

    def show_content(self, content: Sheet | str) -> None:
        if isinstance(content, str):
            self._said.setText(content)
            self._stack.setCurrentWidget(self._said)
            self.view.show_sheet(None)
        else:
            self.view.show_sheet(content)
            self._stack.setCurrentWidget(self.view)
