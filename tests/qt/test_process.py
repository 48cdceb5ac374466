"""The window as a process: what it imports, and what is left when it is killed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from profiling.store import SessionError, load
from tests.qt.conftest import OpenWindow

DEADLINE_S = 60


def test_the_window_imports_neither_torch_nor_pandas(session_file: Path, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.qt.window_process", "modules", str(tmp_path), str(session_file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )
    modules = set(done.stdout.split())
    assert {"PySide6", "pyqtgraph", "app"} <= modules
    # pyqtgraph imports cuda.bindings by itself where it is installed; that alone makes no context.
    assert modules.isdisjoint({"torch", "triton", "pandas"})


def test_a_killed_window_leaves_every_point_and_no_worker(tmp_path: Path, open_window: OpenWindow):
    window = subprocess.Popen([sys.executable, "-m", "tests.qt.window_process", "run", str(tmp_path)])
    try:
        path = _first_points(tmp_path / "sessions", 2)
        workers = psutil.Process(window.pid).children(recursive=True)
        assert workers
    finally:
        window.send_signal(signal.SIGKILL)
        window.wait()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert alive == []  # the end of its input is enough for the worker
    written = load(path)
    assert Path(f"{path}-wal").exists()
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
