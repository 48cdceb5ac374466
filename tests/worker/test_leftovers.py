"""What hostile code leaves behind: no child of it holds a run up, survives it, or keeps the device."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from roofscope.profiling.process_tree import children_of, descendants_of, end_tree
from roofscope.profiling.results.outcome import Failed, FailureKind, Measured
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.run_events import Awaited, Banner, OutcomeArrived, Progressed, RunEvent
from roofscope.tests.children import python
from roofscope.tests.worker.test_worker import Watched, jobs_of
from roofscope.tests.worker.toys import REFERENCE, add_toy

DEADLINE_S = 120.0  # to say that something hangs
NAP = """
import os, subprocess, sys, time
NAP = [sys.executable, '-c', 'import time; time.sleep(3600)', {mark!r}]
"""
BEHIND = {
    "forked": "if os.fork() == 0:\n    os.execv(NAP[0], NAP)\n",
    "detached": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.execv(NAP[0], NAP)\n"
    "    os._exit(0)\n",
    "started": "subprocess.Popen(NAP, start_new_session=True)\n",
}
DIES_FORKED = (
    "import os, time\ndef run(x):\n    if os.fork() == 0:\n        time.sleep(3600)\n    os._exit(5)\n"
)
HOLDS = "import ctypes\ndef run(x):\n    ctypes.PyDLL(None).sleep(3600)\n    return x * 2\n"
IGNORES = """
import signal, time
def run(x):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)
"""


def processes_with(mark: str) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            if mark in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


@pytest.fixture
def mark() -> Iterator[str]:
    """A word in the command line of what must be gone."""
    word = f"left-by-{os.getpid()}-{time.monotonic_ns()}"
    yield word
    for process in processes_with(word):
        process.kill()


def run_all(root: Path, names: list[str]) -> Watched:
    watched = Watched(root)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, names)])
    return watched


@pytest.mark.parametrize("how", BEHIND)
def test_what_a_kernel_leaves_running_ends_with_its_process(tmp_path: Path, mark: str, how: str) -> None:
    """Not only with the run: it would take time from the next kernels."""
    add_toy(tmp_path, "bad", f"{NAP.format(mark=mark)}{BEHIND[how]}{REFERENCE}")
    seen: list[int] = []

    def look(report: RunEvent) -> None:
        if isinstance(report, OutcomeArrived):
            seen.append(len(processes_with(mark)))

    watched = Watched(tmp_path, look)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["bad"])])
    assert seen == [1]
    assert processes_with(mark) == []
    assert watched.run.worker_pid is not None  # the worker is there, and clean
    watched.run.close()


@pytest.mark.parametrize("how", BEHIND)
def test_what_a_reference_leaves_running_ends_with_the_run(tmp_path: Path, mark: str, how: str) -> None:
    (add_toy(tmp_path, "bad", REFERENCE) / "reference.py").write_text(
        f"{NAP.format(mark=mark)}{BEHIND[how]}{REFERENCE}"
    )
    watched = run_all(tmp_path, ["bad"])
    assert len(processes_with(mark)) == 1
    watched.run.close()
    assert processes_with(mark) == []


def test_a_kernel_that_dies_is_known_at_once_though_its_child_lives(tmp_path: Path) -> None:
    add_toy(tmp_path, "bad", DIES_FORKED)
    watched = run_all(tmp_path, ["bad"])
    watched.run.close()
    outcome = watched.outcomes["bad"]
    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.WORKER_LOST  # and no timeout
    assert "exit code 5" in outcome.message


def test_a_reference_that_dies_and_leaves_a_child_with_every_descriptor_costs_one_job(tmp_path: Path) -> None:
    """The child holds the pipes to the program, past every hook, and the device's lock."""
    libc_fork = DIES_FORKED.replace("os.fork()", "ctypes.CDLL(None).fork()").replace(
        "import os", "import ctypes, os"
    )
    (add_toy(tmp_path, "bad", REFERENCE) / "reference.py").write_text(libc_fork)
    add_toy(tmp_path, "good", REFERENCE)
    watched = run_all(tmp_path, ["bad", "good"])
    watched.run.close()
    assert isinstance(watched.outcomes["bad"], Failed)
    assert isinstance(watched.outcomes["good"], Measured)
    assert not watched.of_kind(Banner)  # such as that the device is in use


def test_a_child_that_returns_into_the_engine_says_nothing(tmp_path: Path) -> None:
    (add_toy(tmp_path, "bad", REFERENCE) / "reference.py").write_text(f"import os\nos.fork()\n{REFERENCE}")
    watched = run_all(tmp_path, ["bad"])
    watched.run.close()
    assert isinstance(watched.outcomes["bad"], Measured)
    assert not watched.of_kind(Banner)


@pytest.mark.parametrize("source", [HOLDS, IGNORES], ids=["holds Python's lock", "ignores SIGTERM"])
@pytest.mark.parametrize("file", ["eager.py", "reference.py"])
def test_a_stop_ends_what_does_not_listen(
    tmp_path: Path, source: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roofscope.profiling.supervision.supervisor.CANCEL_GRACE_S", 0.5)
    (add_toy(tmp_path, "bad", REFERENCE) / file).write_text(source)

    def stop(report: RunEvent) -> None:
        if isinstance(report, Awaited):  # silent for some seconds: it is in there
            watched.run.press_stop()

    watched = Watched(tmp_path, stop)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["bad"])])
    watched.run.close()
    assert [report.left_s > 0 for report in watched.reports if isinstance(report, Awaited)]


_RUN = """
import sys
from pathlib import Path
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recording import carry_out
from roofscope.profiling.supervision.run_events import Awaited
from roofscope.tests.worker.test_worker import jobs_of
root = Path(sys.argv[1])
say = lambda report: print("silent", flush=True) if isinstance(report, Awaited) else None
carry_out(map(Run, jobs_of(scan([root]), ["bad"])), scan([LIBRARY, root]), [root], say)
"""


@pytest.mark.parametrize("file", ["eager.py", "reference.py"])
def test_a_killed_program_leaves_no_process_though_foreign_code_holds_pythons_lock(
    tmp_path: Path, mark: str, file: str
) -> None:
    source = f"{NAP.format(mark=mark)}{BEHIND['detached']}{HOLDS}"
    (add_toy(tmp_path, "bad", REFERENCE) / file).write_text(source)
    program = subprocess.Popen([*python(_RUN), str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "silent\n"
    below = [psutil.Process(pid) for pid in descendants_of(program.pid)]
    assert len(below) >= 4  # guard, worker, fork server and what was left
    assert processes_with(mark)
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    _, alive = psutil.wait_procs(below, timeout=DEADLINE_S)
    assert alive == []


def test_a_killed_guard_takes_the_worker_with_it_and_the_run_goes_on(tmp_path: Path) -> None:
    add_toy(tmp_path, "first", REFERENCE)
    add_toy(tmp_path, "second", REFERENCE)
    killed: list[int] = []
    below: list[psutil.Process] = []

    def kill(report: RunEvent) -> None:
        if isinstance(report, Progressed) and report.stage and not killed and watched.run.worker_pid:
            killed.append(watched.run.worker_pid)
            below.extend(psutil.Process(pid) for pid in descendants_of(killed[0]))
            os.kill(killed[0], signal.SIGKILL)

    watched = Watched(tmp_path, kill)
    watched.run.run([Run(job) for job in jobs_of(watched.catalog, ["first", "second"])])
    watched.run.close()
    assert len(below) >= 2
    _, alive = psutil.wait_procs(below, timeout=DEADLINE_S)
    assert alive == []
    assert isinstance(watched.outcomes["second"], Measured)


def test_a_kernel_finds_nothing_to_read_and_may_print_without_end(tmp_path: Path) -> None:
    add_toy(tmp_path, "reads", "def run(x):\n    input()\n")
    add_toy(tmp_path, "prints", "import os\ndef run(x):\n    os.write(1, b'x' * 100000)\n    return x * 2\n")
    (add_toy(tmp_path, "judge", REFERENCE) / "reference.py").write_text(
        "import os\ndef run(x):\n    assert os.read(0, 1) == b''\n    return x * 2\n"
    )
    watched = run_all(tmp_path, ["reads", "prints", "judge"])
    watched.run.close()
    reads = watched.outcomes["reads"]
    assert isinstance(reads, Failed)
    assert "EOF when reading a line" in reads.message
    for name in ("prints", "judge"):
        assert isinstance(watched.outcomes[name], Measured), watched.outcomes[name]


def test_a_tree_ends_with_those_that_left_their_group() -> None:
    code = (
        "from roofscope.profiling.worker.process_control import adopt_orphans\n"
        "import os, subprocess, sys, time\nadopt_orphans()\n"
        "NAP = [sys.executable, '-c', 'import time; time.sleep(3600)']\n"
        f"{BEHIND['detached']}print('ready', flush=True)\ntime.sleep(3600)\n"
    )
    top = subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert top.stdout is not None
    assert top.stdout.readline() == "ready\n"
    until = time.monotonic() + DEADLINE_S
    while not (below := children_of(top.pid)):  # the orphan, once its parent has gone
        assert time.monotonic() < until
    left = [psutil.Process(pid) for pid in below]
    end_tree(top.pid)
    assert top.wait() == -signal.SIGKILL
    top.stdout.close()
    _, alive = psutil.wait_procs(left, timeout=DEADLINE_S)
    assert alive == []


if sys.platform != "linux":
    pytest.skip("Orphans are adopted on Linux only.", allow_module_level=True)
