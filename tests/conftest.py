"""What every test runs under: no screen, no settings of the user's, and nothing left running."""

import contextlib
import functools
import importlib.util
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

# This checkout is the package `roofscope`, installed or not; the checkout itself must not be on the path.
runpy.run_path(str(Path(__file__).parents[1] / "main.py"))
# Processes that multiprocessing spawns get this path, and find it there.
sys.path.insert(0, str(Path(__file__).parents[1] / ".ci" / "path"))
# No test, and nothing that a test starts, may listen or leave this machine: tests/guard notes it. It comes
# before the program, of which it also changes modules.
_guard = Path(__file__).with_name("guard")
sys.path.insert(0, str(_guard))
runpy.run_path(str(_guard / "sitecustomize.py"))

from roofscope.profiling.results import session_writer  # noqa: E402
from roofscope.profiling.supervision import supervisor  # noqa: E402
from roofscope.tests.kernels import interpreter  # noqa: E402
from roofscope.tests.leaks import Running  # noqa: E402

# A shell's background job ignores Ctrl+C, and so would the programs that tests start and stop.
signal.signal(signal.SIGINT, signal.default_int_handler)
# What a test writes need not survive a power cut, for which a disk takes 40 ms a commit.
session_writer.SYNCHRONOUS = "OFF"

_home = tempfile.TemporaryDirectory(prefix="roofscope-tests-")

# Before torch is imported, also by what a test starts. Where others want the cores too, its threads wait for
# one another in busy loops: so test_eager.py and test_specs.py of the kernels took four times as much.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Before Qt is imported. A desktop that sets these for itself must not get windows, nor its settings changed.
os.environ["QT_QPA_PLATFORM"] = "offscreen"
# A Roofscope at work beside the tests must not stop them.
os.environ["ROOFSCOPE_LOCKS"] = _home.name
# Compiled kernels may be shared.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(tempfile.gettempdir(), "roofscope-tests-inductor")))
os.environ["TMPDIR"] = _home.name
_network_log = Path(_home.name, "network.log")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_guard), os.environ.get("PYTHONPATH"))))
os.environ["ROOFSCOPE_NETWORK_LOG"] = str(_network_log)
for _variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
    _folder = Path(_home.name, _variable.lower())
    _folder.mkdir(mode=0o700)
    os.environ[_variable] = str(_folder)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the settings of plugins that a GPU machine may lack; unknown ones are refused."""
    if importlib.util.find_spec("pytestqt") is None:
        for name in ("qt_api", "qt_log_level_fail", "qt_log_ignore"):
            parser.addini(name, "pytest-qt is not installed")
    if importlib.util.find_spec("pytest_timeout") is None:
        parser.addini("timeout", "pytest-timeout is not installed")


def pytest_report_header() -> str | None:
    """Says which Triton interprets; tests/kernels/test_triton.py proves it."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return f"interpreted by triton {interpreter.OTHER or metadata.version('triton')}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "gpu" in _folders(item):
            item.add_marker(pytest.mark.gpu)


_exit_status = 0


def pytest_sessionfinish(exitstatus: int) -> None:
    global _exit_status  # noqa: PLW0603 - pytest hands it over here and needs it there
    _exit_status = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Ends the process once all is reported, without the interpreter's own end.

    Charts that tests have left behind crash in Qt's destructors there, after every test has passed.
    The program's own end is tested in a process of its own: tests/qt/test_process.py.
    """
    _home.cleanup()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_exit_status)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") is not None and (reason := _why_no_gpu()):
        pytest.skip(reason)


@functools.cache
def _why_no_gpu() -> str | None:
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    import torch

    return None if torch.cuda.is_available() else "torch sees no CUDA device here"


@pytest.fixture(autouse=True)
def nothing_left_running(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test of the window or the worker that leaves a thread, a timer or a process behind."""
    if _folders(request.node).isdisjoint({"qt", "worker"}):
        yield
        return
    before = Running.now()
    yield
    left = Running.settled(before)
    assert not left, f"left running: {'; '.join(left)}"


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that uses a network, by itself or by a process that it started; tools may ask for news."""
    yield
    if request.node.get_closest_marker("listens"):
        _network_log.unlink(missing_ok=True)
        return
    used = _network_log.read_text(encoding="utf-8") if _network_log.exists() else ""
    _network_log.unlink(missing_ok=True)
    assert not used or "contracts" in _folders(request.node), f"the network was used: {used}"


@pytest.fixture(autouse=True)
def patient_supervisor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is stopped may take its time on a busy machine: what it says then is what is tested."""
    if not _folders(request.node).isdisjoint({"qt", "worker"}):
        for name in ("CANCEL_GRACE_S", "EXIT_GRACE_S"):
            monkeypatch.setattr(supervisor, name, 60.0)


def _folders(item: pytest.Item) -> set[str]:
    return set(item.path.relative_to(Path(__file__).parent).parent.parts)
