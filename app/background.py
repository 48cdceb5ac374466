"""Runs slow questions off the window's thread and brings the answer back to it."""

import threading
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal

Answer = TypeVar("Answer")


class Background(QObject):
    """Plain threads: the few questions of the window are short and rare.

    A question that raises delivers nothing but tells ``failed`` one sentence.
    """

    failed = Signal(str)
    _answered = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._threads: list[threading.Thread] = []
        self._answered.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def ask(self, question: Callable[[], Answer], deliver: Callable[[Answer], object]) -> None:
        """Call ``question`` in a thread, then ``deliver`` its answer in this object's thread."""

        def work() -> None:
            try:
                answer = question()
            except Exception as error:  # an own thread's error would otherwise vanish in a log
                self.failed.emit(f"{type(error).__name__}: {error}")
                return
            self._answered.emit(deliver, answer)

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def finish(self, timeout_s: float = 5.0) -> None:
        """Wait for what is still asked; its answers are dropped."""
        self._answered.disconnect(self._deliver)
        for thread in self._threads:
            thread.join(timeout_s)

    def _deliver(self, deliver: Callable[[object], object], answer: object) -> None:
        deliver(answer)
