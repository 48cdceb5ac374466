"""The guard of every test here sees what it must see."""

import subprocess
import sys

import pytest
from PySide6.QtCore import QProcess, QThread, QTimer
from pytestqt.qtbot import QtBot

from roofscope.tests.leaks import Running

SLEEP = ["-c", "import time; time.sleep(60)"]


@pytest.fixture
def before(qtbot: QtBot) -> frozenset[tuple[object, str]]:
    return Running.now()


def left(before: Running) -> str:
    return "; ".join(Running.settled(before))


def test_an_active_timer_is_seen(before: Running) -> None:
    timer = QTimer()
    timer.start(10_000)
    assert "active timer" in left(before)
    timer.stop()
    assert left(before) == ""


def test_a_running_thread_is_seen(before: Running) -> None:
    thread = QThread()
    thread.start()
    assert "running thread" in left(before)
    thread.quit()
    thread.wait()
    assert left(before) == ""


def test_a_qt_process_is_seen(before: Running) -> None:
    process = QProcess()
    process.start(sys.executable, SLEEP)
    assert process.waitForStarted()
    assert "time.sleep(60)" in left(before)
    process.kill()
    assert process.waitForFinished()
    assert left(before) == ""


def test_a_child_process_is_seen(before: Running) -> None:
    with subprocess.Popen([sys.executable, *SLEEP]) as child:
        assert str(child.pid) in left(before)
        child.kill()
    assert left(before) == ""
