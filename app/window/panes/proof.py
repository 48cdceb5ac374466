"""The self-test: the program proves on the user's own device that its number is the true one."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.formatting import duration_text
from roofscope.app.presentation.proof_text import figure_text, finding_text
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.controller import Controller
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.widgets.icons import icon_pixmap
from roofscope.app.window.widgets.labels import label
from roofscope.app.window.widgets.scroll_list import ScrollList
from roofscope.profiling.devices.device import Device
from roofscope.profiling.results.proof import Judgement, Proof, Row
from roofscope.profiling.supervision.run_events import Progressed

_ABOUT = (
    "The self-test times what is known beforehand, compares a callable with itself, plants a slowdown, asks "
    "the profiler, and sets traps that a naive timer falls into. Each proof states its limit."
)
_ICONS = {
    Judgement.PASSED: "circle-check",
    Judgement.FAILED: "circle-x",
    Judgement.INCONCLUSIVE: "info",
    Judgement.SKIPPED: "info",
}
_MARKS = {True: "✓", False: "✗", None: ""}


Ask = Callable[[Sequence[Device], Callable[[], object]], None]  # whether a device in use may be used


class ProofPane(QWidget):
    """Shows the newest proof of each name in the session, and carries them out again."""

    def __init__(
        self,
        model: SessionModel,
        controller: Controller,
        device: Device | None,
        theme: Theme,
        ask: Ask,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._ask = ask
        self._model, self._controller, self._device, self._theme = model, controller, device, theme
        self._prove = QPushButton("Prove it on this device")
        self._prove.setAccessibleName("Prove it on this device")
        self._prove.clicked.connect(self._start)
        self._stop = QPushButton("Stop")
        self._stop.setAccessibleName("Stop the self-test")
        self._stop.clicked.connect(controller.stop)
        self._state = label("", "muted", wraps=True)
        self._state.setAccessibleName("State of the self-test")
        self._list = ScrollList("Proofs")
        self._arrange()
        model.proof_added.connect(self._refresh)
        model.replaced.connect(self._refresh)
        controller.progressed.connect(self._progress)
        controller.running_changed.connect(self._tell)
        self._refresh()

    def _arrange(self) -> None:
        buttons = QHBoxLayout()
        buttons.addWidget(self._state, 1)
        buttons.addWidget(self._stop)
        buttons.addWidget(self._prove)
        layout = QVBoxLayout(self)
        layout.addWidget(label(_ABOUT, "muted", wraps=True))
        layout.addLayout(buttons)
        layout.addWidget(self._list, 1)

    def _start(self) -> None:
        if device := self._device:
            self._ask([device], lambda: self._begin(device))

    def _begin(self, device: Device) -> None:
        self._controller.prove(device)
        self._tell()

    def _progress(self, progress: Progressed) -> None:
        if self._controller.is_proving:
            self._state.setText(f"Proving: {progress.detail or progress.item}")

    def _tell(self) -> None:
        running, proving = self._controller.is_running, self._controller.is_proving
        self._stop.setVisible(proving)
        self._prove.setVisible(not proving)
        self._prove.setEnabled(self._device is not None and not running)
        proofs = self._model.session.newest_proofs
        if proving:
            self._state.setText("Proving...")
        elif running:
            self._state.setText("A run is under way; the self-test needs the device for itself.")
        elif proofs:
            shown = self._model.session.device
            self._state.setText(f"{shown.name}: {_counts(proofs)}" if shown else _counts(proofs))
        else:
            name = self._device.name if self._device else "this machine"
            self._state.setText(f"Nothing is proved in this session yet. The self-test runs on {name}.")

    def _refresh(self) -> None:
        self._list.clear()
        for proof in self._model.session.newest_proofs:
            self._list.add(self._entry(proof))
        self._tell()

    def _entry(self, proof: Proof) -> QWidget:
        colours = {Judgement.PASSED: self._theme.good, Judgement.FAILED: self._theme.bad}
        colour = colours.get(proof.judgement, self._theme.text_muted)
        mark = QLabel()
        mark.setPixmap(icon_pixmap(_ICONS[proof.judgement], colour, 18, self.devicePixelRatioF()))
        mark.setAccessibleName(proof.judgement)
        was_done = proof.judgement is not Judgement.SKIPPED and proof.duration_s is not None
        took = f", {duration_text(proof.duration_s)}" if was_done else ""
        title = label(f"{proof.name}: {proof.judgement}{took}", "proof")
        text = QVBoxLayout()
        text.setSpacing(3)
        head = QHBoxLayout()
        head.addWidget(title, 1)
        text.addLayout(head)
        text.addWidget(label(finding_text(proof), wraps=True))
        text.addWidget(label(f"Limit: {proof.limit}", "muted", wraps=True))
        if proof.rows:
            table = _figures(proof)
            table.setVisible(proof.passed is False)  # a failure is to be looked at
            text.addWidget(table)
            head.addWidget(_toggle(table, proof))
        entry = QWidget()
        row = QHBoxLayout(entry)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(text, 1)
        return entry


def _toggle(table: QWidget, proof: Proof) -> QPushButton:
    button = QPushButton("Figures")
    button.setAccessibleName(f"Figures of {proof.name}")
    button.setCheckable(True)
    button.setChecked(not table.isHidden())
    button.toggled.connect(table.setVisible)
    return button


def _figures(proof: Proof) -> QWidget:
    made = QWidget()
    grid = QGridLayout(made)
    grid.setContentsMargins(0, 2, 0, 2)
    grid.setHorizontalSpacing(14)
    grid.setVerticalSpacing(2)
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop
    for place, column in enumerate(proof.columns, start=2):
        grid.addWidget(label(column.name, "muted"), 0, place, right)
    for line, row in enumerate(proof.rows, start=1):
        grid.addWidget(label(_MARKS[row.passed]), line, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(label(row.label), line, 1, Qt.AlignmentFlag.AlignTop)
        for place, text in enumerate(_texts(proof, row), start=2):
            grid.addWidget(label(text), line, place, right)
        if row.note:
            note = label(row.note, "muted", wraps=True)
            grid.addWidget(note, line, len(proof.columns) + 2)
    grid.setColumnStretch(len(proof.columns) + 2, 1)
    return made


def _texts(proof: Proof, row: Row) -> list[str]:
    return [figure_text(value, column.unit) for value, column in zip(row.values, proof.columns, strict=False)]


def _counts(proofs: tuple[Proof, ...]) -> str:
    counts = {word: sum(proof.judgement is word for proof in proofs) for word in Judgement}
    text = [f"{count} {word}" for word, count in counts.items() if count]
    when = max(proof.recorded_at for proof in proofs)[:16].replace("T", " ")
    return f"{', '.join(text)}{f'; last on {when} UTC' if when else ''}."
