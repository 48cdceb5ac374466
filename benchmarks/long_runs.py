"""Shows whether memory stays flat over 5,000 points, 100 restarts of the worker and eight simulated hours.

    python3 -P main.py -m roofscope.benchmarks.long_runs [--part window] [--points 5000] [--jobs 300]

Three parts, each in a process of its own. ``window``: the real window, without a screen, with a worker that
answers at once; it is killed or let go 100 times and more, and the timers of eight hours are played.
``headless``: the command line's supervisor and recorder, with the same worker, killed 100 times.
``worker``: a real worker and its fork server, with small jobs on a device, of which one in ten is measured
and the others fail in as many ways.

Memory is what the processes wrote (`growth`). Prints the growth after the first tenth of each process. The
window holds the points of its session, by design, so half of its points go into ten sessions, one after the
other, after each of which it must stand where it stood before, and half into one, for the bytes a point. Ends
with 0 only where growth stays under 20 MB, and a point under 10 kB.
"""

import argparse
import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from roofscope.benchmarks.growth import Growth, Held
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.paths import LIBRARY, UserPaths, module_command
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Work, Workload
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.headless import HeadlessRun
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.run_events import OutcomeArrived, RunEvent
from roofscope.profiling.supervision.safe_store import SafeStore
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

if TYPE_CHECKING:  # Qt, which the other parts do without
    from PySide6.QtCore import Qt

    from roofscope.app.window.application import Application
    from roofscope.app.window.tables.library_model import LibraryModel

RESTARTS = 100
HOURS = 8.0
PARTS = ("window", "headless", "worker")


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 only where each part stayed flat."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="all if none")
    parser.add_argument("--points", type=int, default=5000, help="of window and headless")
    parser.add_argument("--jobs", type=int, default=300, help="of the real worker")
    parser.add_argument("--device", default="cpu", help="of the real worker")
    chosen = parser.parse_args(arguments)
    if not chosen.part or len(chosen.part) > 1:
        same = ["--points", str(chosen.points), "--jobs", str(chosen.jobs), "--device", chosen.device]
        command = [*module_command("roofscope.benchmarks.long_runs"), *same]
        return max(
            subprocess.run([*command, "--part", part], check=False).returncode
            for part in chosen.part or PARTS
        )
    [part] = chosen.part
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="roofscope-long-") as folder:
        os.environ["ROOFSCOPE_LOCKS"] = folder
        match part:
            case "window":
                growths = window(Path(folder), chosen.points)
            case "headless":
                growths = headless(Path(folder), chosen.points)
            case _:
                growths = worker(Path(folder), chosen.jobs, _device(chosen.device))
    for growth in growths:
        sys.stdout.write(f"{growth}\n")
    sys.stdout.write(f"{part}: {time.monotonic() - began:.0f} s\n")
    return 0 if all(growth.is_flat for growth in growths) else 1


def window(folder: Path, points: int) -> list[Growth]:
    """The window, its timers and its reactions to a worker that is lost.

    Half of the points go into ten sessions, the other half into one.
    """
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QCoreApplication, QEvent, Qt
    from PySide6.QtWidgets import QApplication

    from roofscope.app.window.application import build_window
    from roofscope.app.window.commands import CommandId
    from roofscope.tests.qt.stand_ins import FakeDevices, FakeTarget

    app = QApplication(["roofscope"])
    paths = UserPaths(folder / "sessions", folder / "window.ini", folder / "ceilings", folder / "assets")
    application = build_window(app, paths, source=FakeDevices(), target=FakeTarget("quick"))
    application.start()
    application.window.show()

    def until(is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + 600
        while not is_so():
            app.processEvents()
            # Without exec() nobody else deletes what is to be deleted later.
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
            time.sleep(0.001)
            if time.monotonic() > end:
                sys.exit("The window hangs: ten minutes without what it is waited for.")

    until(lambda: application.panes.plan_bar.device() is not None)
    _tick(application.library, max(points // RESTARTS, 50), Qt)
    between, one = Growth("window between sessions"), Held("window with a session", points // 2)

    def fill(count: int, sample: Callable[[], None]) -> None:
        while application.table.rowCount() < count:
            before, number = application.table.rowCount(), application.table.rowCount() // 50
            application.window.actions_of[CommandId.RUN].trigger()
            if number % 5 == 0:  # in mid-run, where the worker may have given some of its results
                until(partial(_has_begun, application, before))
                _kill(application.link.worker_pid)
            until(lambda: not application.controller.is_running)
            _play_hours(application, HOURS / RESTARTS)
            application.selection.select(application.table.rowCount())
            if number % 2:
                application.link.release()
            else:
                _kill(application.link.worker_pid)
            until(lambda: application.link.worker_pid is None)
            gc.collect()
            sample()

    for _ in range(10):
        fill(points // 20, lambda: None)
        application.window.actions_of[CommandId.NEW].trigger()
        until(lambda: not application.panes.chart.scene.points)
        gc.collect()
        between.sample(os.getpid())
    fill(points // 2, lambda: one.sample(os.getpid()))
    application.window.close()
    return [between, one]


def _has_begun(application: "Application", before: int) -> bool:
    return application.table.rowCount() > before or not application.controller.is_running


def _tick(library: "LibraryModel", count: int, qt: "type[Qt]") -> None:
    """Tick kernels until a run of them makes about so many points."""
    library.set_all(False)
    for row in range(library.rowCount()):
        library.setData(library.index(row, 0), qt.CheckState.Checked, qt.ItemDataRole.CheckStateRole)
        if sum(map(len, library.checked().values())) >= count:
            return


def _play_hours(application: "Application", hours: float) -> None:
    """What the window's own timers would have done meanwhile."""
    for _ in range(int(hours * 3600)):
        application.panes.strip._read()
        application.link._tick()


def headless(folder: Path, points: int) -> list[Growth]:
    """Supervisor, subprocess and recorder, as the command line has them; each point one job."""
    from roofscope.tests.qt.stand_ins import FakeTarget
    from roofscope.tests.sessions import DEVICE

    catalog = scan([LIBRARY])
    growth, seen = Growth("headless program"), 0
    supervisor = Supervisor([], catalog.hash)
    with SessionStore.create(folder / "long.roofscope", {}) as store:
        recorder = Recorder(SafeStore(store), catalog, DEVICE, CeilingCache(print, folder / "ceilings"))

        def watch(report: RunEvent) -> None:
            nonlocal seen
            recorder.handle(report)
            if not isinstance(report, OutcomeArrived):
                return
            seen += 1
            if seen % (points // RESTARTS) == 0:
                gc.collect()
                growth.sample(os.getpid())
                _kill(run.worker_pid)

        run = HeadlessRun(supervisor, watch, FakeTarget("quick"))
        run.run([Run(_invented_job(number)) for number in range(1, points + 1)])
        run.close()
    sys.stdout.write(f"{seen} points by the command line's loop\n")
    return [growth]


def _invented_job(number: int) -> Job:
    """Each of an implementation of its own: what costs a worker is paused."""
    implementation = Implementation("gelu", Provider.TRITON, f"number_{number}", f"{number:064x}")
    workload = Workload("gelu", Dtype.FLOAT32, {"n": 2**20 + number})
    return Job(f"job-{number}", "cuda:0", workload, Work(9 << 20, 4 << 20, 4 << 20), (implementation,))


# A small kernel in as many ways as matter to what the referee and the fork server keep.
_WAYS = {
    "measured": "def run(x):\n    return x * 2\n",
    "wrong": "def run(x):\n    return x * 3\n",
    "raises": "def run(x):\n    raise ValueError('x' * 100_000)\n",
    "misshapen": "def run(x):\n    return x[:-1] * 2\n",
    "no_syntax": "def run(x)\n    return x\n",
    "refuses": "from roofscope import Refusal\ndef run(x):\n    raise Refusal('not here')\n",
    "keeps": "kept = []\ndef run(x):\n    kept.append(x * 2)\n    return kept[-1].clone() * 0\n",
    "prints": "def run(x):\n    print('x' * 100_000)\n    return x * 5\n",
    "changes": "def run(x):\n    x.add_(1)\n    return x * 2\n",
    "grown": "import torch\ndef run(x):\n    return torch.zeros(len(x) * 4)\n",
}


def worker(folder: Path, jobs: int, device: Device) -> list[Growth]:
    """A real worker: many jobs, one after the other, on kernels of a temporary folder."""
    from roofscope.tests.faults.traces_left import children_of
    from roofscope.tests.worker.toys import add_toy

    root = folder / "kernels"
    for name, source in _WAYS.items():
        add_toy(root, name, source)
    catalog = scan([LIBRARY, root])
    kernels = [kernel for name in _WAYS if (kernel := catalog.kernel(name))]
    planned = plan_jobs(
        kernels, device=device.id, dtypes=(), size_choices=[SizeChoice("small")], stems=["eager"]
    )
    outcomes: dict[str, int] = {}

    def watch(report: RunEvent) -> None:
        if isinstance(report, OutcomeArrived):
            kind = str(getattr(report.outcome, "kind", type(report.outcome).__name__.lower()))
            outcomes[kind] = outcomes.get(kind, 0) + 1

    guard, referee, server = Growth("guard"), Growth("referee"), Growth("fork server")
    run = HeadlessRun(Supervisor([str(root)], catalog.hash), watch, LocalTarget())
    pids: set[int] = set()
    for number in range(jobs):
        run.run([Run(planned[number % len(planned)])])
        pid = run.worker_pid
        if pid is None:
            sys.exit("The worker is gone, although no job of these may cost it.")
        pids.add(pid)
        worker_pid = children_of(pid)[0]  # below its guard
        guard.sample(pid)
        referee.sample(worker_pid)
        server.sample(children_of(worker_pid)[0])
    run.close()
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(outcomes.items()))
    sys.stdout.write(f"{jobs} jobs by {len(pids)} worker(s): {counts}\n")
    return [guard, referee, server]


def _kill(pid: int | None) -> None:
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _device(name: str) -> Device:
    wanted = "cuda:0" if name == "cuda" else name
    found = next((device for device in local_devices() if device.id == wanted), None)
    if found is None:
        sys.exit(f"There is no device {name!r} here.")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
