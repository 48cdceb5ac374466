"""Looks at the kernels' files in a thread, because a disk may be slow, and tells what was saved."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from roofscope.profiling.planning.file_watch import LOOK_S, LOOK_SOON_S, FileWatch, stamps_of
from roofscope.profiling.planning.one_file.known_files import KnownFiles

_END_S = 2.0  # a disk that does not answer holds up no window that closes


class FileLooks(QObject):
    saved = Signal(object)  # Saved

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._roots: tuple[Path, ...] = ()
        self._thread: threading.Thread | None = None
        self._begun, self._over = threading.Event(), threading.Event()

    @property
    def is_under_way(self) -> bool:
        """Whether the files are known, so that a save from now on is reported."""
        return self._thread is not None and self._begun.is_set()

    def begin(self, roots: Sequence[Path]) -> None:
        """From now on, at these folders of kernels instead of those before."""
        if self._thread and self._roots == tuple(roots):
            return
        self.end()
        self._roots = tuple(roots)
        self._begun, self._over = threading.Event(), threading.Event()
        given = self._roots, self._begun, self._over
        self._thread = threading.Thread(target=self._look, args=given, name="roofscope-files", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join(_END_S)
        self._thread = None

    def _look(self, roots: Sequence[Path], begun: threading.Event, over: threading.Event) -> None:
        known = KnownFiles()
        watch = FileWatch(stamps_of(roots, known))
        begun.set()
        while not over.wait(LOOK_SOON_S if watch.is_waiting else LOOK_S):
            saved = watch.look(stamps_of(roots, known), time.monotonic())
            if saved.paths and not over.is_set():
                self.saved.emit(saved)
