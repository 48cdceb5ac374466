"""The guard of every test here sees what it must see."""

import subprocess
import sys

import pytest
from PySide6.QtCore import QProcess, QThread, QTimer
from pytestqt.qtbot import QtBot

from roofscope.tests.leaks import GRACE_S, Running

SLEEP = ["-c", "import time; time.sleep(60)"]


@pytest.fixture
def before(qtbot: QtBot) -> frozenset[tuple[object, str]]:
    return Running.now()


def left(before: Running, grace_s: float = GRACE_S) -> str:
    return "; ".join(Running.settled(before, grace_s))


def test_an_active_timer_is_seen(before: Running) -> None:
    timer = QTimer()
    timer.start(10_000)
    assert "active timer" in left(before, 0.0)
    timer.stop()
    assert left(before) == ""


def test_a_running_thread_is_seen(before: Running) -> None:
    thread = QThread()
    thread.start()
    assert "running thread" in left(before, 0.0)
    thread.quit()
    thread.wait()
    assert left(before) == ""


def test_a_qt_process_is_seen(before: Running) -> None:
    process = QProcess()
    process.start(sys.executable, SLEEP)
    assert process.waitForStarted()
    assert "time.sleep(60)" in left(before, 0.0)
    process.kill()
    assert process.waitForFinished()
    assert left(before) == ""


def test_a_child_process_is_seen(before: Running) -> None:
    with subprocess.Popen([sys.executable, *SLEEP]) as child:
        assert str(child.pid) in left(before, 0.0)
        child.kill()
    assert left(before) == ""
