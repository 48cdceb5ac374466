"""Runs slow questions off the window's thread and brings the answer back to it."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal

Answer = TypeVar("Answer")


class Background(QObject):
    """A few threads for the few slow questions of the window."""

    failed = Signal(str)  # one sentence: a question that raised delivers nothing
    _answered = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="roofscope")
        self._answered.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        self._is_closed = False

    def ask(
        self,
        question: Callable[[], Answer],
        deliver: Callable[[Answer], object],
        give_up: Callable[[], object] | None = None,
    ) -> None:
        """Call ``question`` in a thread, then ``deliver`` its answer in this object's thread.

        Where the question raises, ``failed`` says so and ``give_up`` is called instead.
        """

        def answered(future: Future[Answer]) -> None:
            if not future.cancelled() and not self._is_closed:
                self._answered.emit((deliver, give_up), future)

        self._threads.submit(question).add_done_callback(answered)

    def finish(self) -> None:
        """Wait for what is under way; its answers are dropped."""
        self._is_closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _deliver(
        self, callbacks: tuple[Callable[[object], object], Callable[[], object] | None], future: Future[Any]
    ) -> None:
        if self._is_closed:
            return
        deliver, give_up = callbacks
        if error := future.exception():
            self.failed.emit(f"{type(error).__name__}: {error}")
            if give_up:
                give_up()
        else:
            deliver(future.result())
