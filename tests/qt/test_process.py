"""The window as a process: what it imports, and what is left when it is killed."""

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from roofscope.profiling.paths import module_command
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.tests.children import python
from roofscope.tests.qt.conftest import OpenWindow

DEADLINE_S = 120


def test_the_window_imports_neither_torch_nor_pandas(session_file: Path, tmp_path: Path):
    done = subprocess.run(
        [*module_command("roofscope.tests.qt.window_process"), "modules", str(tmp_path), str(session_file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )
    modules = set(done.stdout.split())
    assert {"PySide6", "pyqtgraph", "roofscope"} <= modules
    # pyqtgraph imports cuda.bindings by itself where it is installed; that alone makes no context.
    assert modules.isdisjoint({"torch", "triton", "pandas"})


def test_a_killed_window_leaves_every_point_and_no_worker(tmp_path: Path, open_window: OpenWindow):
    window = subprocess.Popen([*module_command("roofscope.tests.qt.window_process"), "run", str(tmp_path)])
    try:
        path = _first_points(tmp_path / "sessions", 2)
        workers = psutil.Process(window.pid).children(recursive=True)
        assert workers
    finally:
        window.send_signal(signal.SIGKILL)
        window.wait()
    _, alive = psutil.wait_procs(workers, timeout=DEADLINE_S)
    assert alive == []  # the end of its input is enough for the worker
    written = load(path)
    assert len(written.points) >= 2
    again = open_window()  # the last session, without being asked for
    assert again.model.session.path == path
    assert again.table.rowCount() == len(written.points)
    assert again.panes.cards.notice_texts == []


def _first_points(folder: Path, count: int) -> Path:
    """The session file once it holds so many points."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        for path in folder.glob("*.roofscope"):
            try:
                if len(load(path).points) >= count:
                    return path
            except SessionError:
                continue  # being made just now
        time.sleep(0.1)
    raise AssertionError("The window wrote no points.")


_OPEN_AND_END = """
import signal, sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from roofscope.app.window.application import run_window

run = QApplication.exec

def close():
    for window in QApplication.topLevelWidgets():
        if window.isVisible():
            window.close()

def terminate():
    signal.raise_signal(signal.SIGTERM)
    assert any(window.isVisible() for window in QApplication.topLevelWidgets()), "closed in the midst of this"

def run_for_a_moment(*_):
    QTimer.singleShot(500, {end})
    return run()

QApplication.exec = staticmethod(run_for_a_moment)
sys.exit(run_window([Path("assets/sessions/h200.roofscope")]))
"""


@pytest.mark.parametrize("end", ["close", "terminate"])
def test_a_closed_window_ends_its_process_in_order(tmp_path: Path, end: str) -> None:
    """Qt's destructors have their say here, charts and all: no crash, exit code 0."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    ended = subprocess.run(
        python(_OPEN_AND_END.format(end=end)),
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_device_is_shown_last(open_window: OpenWindow, session_file: Path):
    """Reading them took a third of the start. Where a device is shown, they are there."""
    application = open_window(session_file)
    assert application.opening.is_over
    assert application.table.rowCount() == 44
    assert application.library.kernels
    assert application.panes.chart.isVisible()


_MODULES_BEFORE_PAINT = """
import sys
from roofscope.app.window.ahead_of_qt import import_ahead_of_qt
import_ahead_of_qt()
assert not any(name.startswith("PySide6") for name in sys.modules), "Qt is loaded too early"
import roofscope.app.window.application
unused = {"pyqtgraph.imageview", "pyqtgraph.parametertree", "typer", "rich", "jinja2"}
assert not unused & set(sys.modules), unused & set(sys.modules)
from roofscope.app.window.chart.plotting import pg
from PySide6 import QtCore
import PySide6
assert PySide6.QtCore is QtCore is sys.modules["PySide6.QtCore"]
assert pg.Qt.QtCore.QObject is QtCore.QObject
import pyqtgraph.imageview  # whoever wants it has it
assert pyqtgraph.imageview.ImageView
"""


def test_a_start_imports_little(tmp_path: Path):
    done = subprocess.run(
        python(_MODULES_BEFORE_PAINT),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
