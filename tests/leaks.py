"""Finds what a test left running: Qt threads, timers and processes, and child processes of any kind."""

import gc
import sys
import time
from collections.abc import Iterator
from typing import Self

import psutil

GRACE_S = 60.0  # only a leak takes that long, whatever else the machine does


class Running(frozenset[tuple[object, str]]):
    """Pairs of an identity and a description, so that two snapshots can be subtracted."""

    @classmethod
    def now(cls) -> Self:
        return cls((*_child_processes(), *_qt_objects()))

    @classmethod
    def settled(cls, before: Self, grace_s: float = GRACE_S) -> list[str]:
        """What runs now and did not before, after a while in which things may still end by themselves."""
        deadline = time.monotonic() + grace_s
        while new := cls.now() - before:
            _finish_deletions()
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        return sorted(description for _, description in new)


def _child_processes() -> Iterator[tuple[object, str]]:
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE:
                yield (
                    (child.pid, child.create_time()),
                    f"process {child.pid}: {' '.join(child.cmdline())[:200]}",
                )
        except psutil.NoSuchProcess:
            continue  # it ended between the two calls


def _qt_objects() -> Iterator[tuple[object, str]]:
    if "PySide6.QtCore" not in sys.modules:
        return
    import shiboken6
    from PySide6.QtCore import QProcess, QThread, QTimer

    main_thread = QThread.currentThread()
    for found in shiboken6.getAllValidWrappers():
        match found:
            case QThread() if found is not main_thread and found.isRunning():
                yield id(found), f"running thread {found!r}"
            case QTimer() if found.isActive():
                yield id(found), f"active timer {found!r}"
            case QProcess() if found.state() != QProcess.ProcessState.NotRunning:
                yield id(found), f"process {found.program()} {' '.join(found.arguments())[:200]}"


def _finish_deletions() -> None:
    gc.collect()
    if "PySide6.QtCore" in sys.modules:
        from PySide6.QtCore import QCoreApplication, QEvent

        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        QCoreApplication.processEvents()
