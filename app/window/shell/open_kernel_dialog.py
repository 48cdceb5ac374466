"""Asks how a file of the user's is measured, with what the file lets one guess."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.window.widgets.choice_box import ChoiceBox
from roofscope.app.window.widgets.labels import label, tip_text
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.one_file.draft import Asked, Proposal
from roofscope.profiling.planning.one_file.offers import Offer

_WIDTH = 560
_MOST_NAMED = 6  # files, before their number stands for them


class OpenKernelDialog(QDialog):
    """``asked`` is emitted with what the user accepts; the dialog stays until it is closed from outside."""

    asked = Signal(object)  # Asked

    def __init__(
        self,
        source: Path,
        offers: Sequence[Offer],
        propose: Callable[[Offer], Proposal],
        runs: Sequence[str],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Open kernel")
        self.setAccessibleName("Open kernel")
        self._source = source
        self._offers = {offer.name: offer for offer in offers}
        self._propose = propose
        self.function = ChoiceBox()
        self.function.setAccessibleName("Function")
        self.function.addItems(list(self._offers))
        plain = next((place for place, offer in enumerate(offers) if offer.is_plain), 0)
        self.function.setCurrentIndex(plain)
        self.reference = _field("Reference", "torch.softmax(x, dim=-1), or file.py:name")
        self.inputs = _field("Inputs", "x=4096x1024 y=1024:bf16")
        self.call = _field("Call", "f(x, y, 1e-5)")
        self.grid = _field("Grid", "cdiv(n, 256)")
        self.block = _field("Block", "256, or (16, 16)")
        self._form = QFormLayout()
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self._form.setSpacing(8)
        fields = (self.function, self.reference, self.inputs, self.call, self.grid, self.block)
        for field in fields:
            self._form.addRow(field.accessibleName(), field)
        self._fault = label("", "warning", wraps=True)
        self._fault.hide()
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(label(one_line(printable(source.name)), "title"))
        layout.addWidget(
            label(
                "Guessed from the file; change what is not right. The reference says what is computed, in "
                "torch or as file.py:name, and is measured beside the file, eager and compiled.",
                "muted",
                wraps=True,
            )
        )
        layout.addLayout(self._form)
        layout.addWidget(self._fault)
        words = f"{_some(runs)} will run with all that you may do."
        runs_text = label(one_line(printable(words)), "muted", wraps=True)
        runs_text.setToolTip(tip_text("\n".join(map(printable, runs))) if len(runs) > _MOST_NAMED else "")
        layout.addWidget(runs_text)
        layout.addWidget(self.buttons)
        self.setFixedWidth(_WIDTH)
        self.function.currentTextChanged.connect(self._fill)
        self._fill(self.function.currentText())

    def show_fault(self, text: str) -> None:
        """A sentence of what is missing or wrong; the user may mend it and try again."""
        self._fault.setText(one_line(printable(text)))
        self._fault.setVisible(bool(text))
        self.buttons.setEnabled(True)
        self._fit()

    def _fill(self, name: str) -> None:
        proposal = self._propose(self._offers[name])
        self.reference.setText(proposal.reference)
        self.inputs.setText(proposal.inputs)
        self.call.setText(proposal.call)
        self.grid.setText(proposal.grid)
        self.block.setText(proposal.block)
        for field in (self.grid, self.block):
            self._form.setRowVisible(field, bool(proposal.grid))
        self._fit()

    def _fit(self) -> None:
        """As high as its lines need, which are wrapped."""
        if layout := self.layout():
            layout.activate()
            self.resize(_WIDTH, layout.totalHeightForWidth(_WIDTH))

    def _accept(self) -> None:
        self.show_fault("")
        self.buttons.setEnabled(False)  # until the reference was tried
        self.asked.emit(
            Asked(
                self._source,
                (self.function.currentText(),),
                self.reference.text().strip(),
                tuple(self.inputs.text().split()),
                self.call.text().strip(),
                self.grid.text().strip(),
                self.block.text().strip(),
            )
        )


def _some(runs: Sequence[str]) -> str:
    """The first of the files' names, and how many more there are: a package has dozens."""
    if len(runs) <= _MOST_NAMED:
        return ", ".join(runs)
    return f"{', '.join(runs[: _MOST_NAMED - 1])} and {len(runs) - _MOST_NAMED + 1} files beside it"


def _field(name: str, example: str) -> QLineEdit:
    field = QLineEdit()
    field.setAccessibleName(name)
    field.setPlaceholderText(example)
    return field
