"""Saved files measured again by a real worker on the CPU."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.file_watch import Stamps, stamps_of
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.outcome import Cancelled, Failed, FailureKind, Measured, Stage
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision import live
from roofscope.profiling.supervision.live import record_live
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import Ending
from roofscope.profiling.supervision.run_events import Banner, Progressed, RunEvent
from roofscope.profiling.supervision.target import LocalTarget
from roofscope.profiling.worker.server import forget_imports
from roofscope.tests.children import ROOT
from roofscope.tests.worker.command_line import keep_ceilings
from roofscope.tests.worker.toys import REFERENCE, add_toy

CPU = cpu_device()
STARTS: list[None] = []  # of workers


class Counted(LocalTarget, frozen=True):
    def argv(self) -> tuple[str, ...]:
        STARTS.append(None)
        return super().argv()


@pytest.fixture(autouse=True)
def in_the_foreground() -> Generator[None]:
    """As in a terminal: tests that run in the background inherit an ignored SIGINT, and Ctrl+C is one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    STARTS.clear()
    monkeypatch.setattr(live, "LocalTarget", Counted)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return add_toy(tmp_path / "mine", "toy", REFERENCE)


def watch(
    toy: Path,
    act: Callable[[RunEvent, Gain | None], None],
    look_again: Callable[[], Catalog | str] | None = None,
    *,
    catalog: Catalog | None = None,
    stamps: Stamps | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[Ending, list[str]]:
    """Measure the toy's eager version and go on with what ``act`` does at each report, until it stops it."""
    roots, said = [toy.parent], list[str]()
    catalog = catalog or scan([LIBRARY, *roots])
    kernel = catalog.kernel("toy")
    assert kernel
    sizes = [SizeChoice("small")]
    jobs = plan_jobs([kernel], device=CPU.id, dtypes=[Dtype.FLOAT32], size_choices=sizes, stems=["eager"])
    ending = record_live(
        toy.parent.parent / "a.roofscope",
        catalog,
        CPU,
        jobs,
        act,
        say or said.append,
        CeilingCache(print, toy.parent / "ceilings"),
        look_again=look_again or (lambda: scan([LIBRARY, *roots])),
        folders=[toy],
        stamps=stamps,
        kernel_roots=roots,
    )
    return ending, said


def _is_timing(report: RunEvent) -> bool:
    return isinstance(report, Progressed) and report.stage is Stage.MEASURE


def stop() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_each_save_is_measured_by_the_one_worker(toy: Path) -> None:
    """Written in place, put in its place, not to be compiled, mended."""
    points: list[Point] = []

    def act(_: RunEvent, gained: Gain | None) -> None:
        if not isinstance(gained, Point):
            return
        points.append(gained)
        match len(points):
            case 1:
                (toy / "eager.py").write_text("def run(x):\n    return x + x\n")
            case 2:
                part = toy / ".eager.py.swp"
                part.write_text("def run(x):\n    return (x + x).clone()\n")
                part.replace(toy / "eager.py")
            case 3:
                (toy / "eager.py").write_text("def run(x):\n    return x +\n")
            case 4:
                (toy / "eager.py").write_text(REFERENCE)
            case _:
                stop()

    ending, said = watch(toy, act)
    assert ending.was_stopped
    assert said == []
    assert len(STARTS) == 1
    session = load(toy.parent.parent / "a.roofscope")
    assert [type(point.outcome) for point in session.points] == [
        Measured,
        Measured,
        Measured,
        Failed,
        Measured,
    ]
    broken = session.points[3]
    assert isinstance(broken.outcome, Failed)
    assert broken.outcome.kind is FailureKind.BUILD_ERROR
    assert 'eager.py", line 2' in broken.outcome.log
    hashes = [point.implementation.source_hash for point in session.points]
    assert len(set(hashes)) == 4
    assert hashes[0] == hashes[4]
    assert set(hashes) <= set(session.sources)
    assert len({point.job.id for point in session.points}) == 5
    assert len(session.origins) <= 2  # as it was known before the worker greeted, and as that saw it


def test_what_kernels_share_is_imported_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "roofscope.kernels.shared.invented", sys)
    monkeypatch.setitem(sys.modules, "roofscope.kernelsmith", sys)
    forget_imports()
    assert "roofscope.kernels.shared.invented" not in sys.modules
    assert "roofscope.kernelsmith" in sys.modules


def test_a_second_save_supersedes_what_is_under_way_and_keeps_the_worker(toy: Path) -> None:
    outcomes: list[object] = []
    wrote: list[str] = []

    def act(report: RunEvent, gained: Gain | None) -> None:
        if isinstance(gained, Point):
            outcomes.append(gained.outcome)
            if len(outcomes) == 1:
                (toy / "eager.py").write_text("def run(x):\n    return x + x\n")
            elif isinstance(gained.outcome, Measured):
                stop()
        elif not wrote and _is_timing(report) and len(outcomes) == 1:
            wrote.append("again")
            (toy / "eager.py").write_text("def run(x):\n    return (x * 2).clone()\n")

    watch(toy, act)
    assert len(STARTS) == 1
    # A machine so slow that the first was done before the second was seen has measured both.
    assert isinstance(outcomes[0], Measured)
    assert isinstance(outcomes[-1], Measured)
    assert all(isinstance(outcome, Cancelled | Measured) for outcome in outcomes)


def test_files_that_may_not_run_any_more_are_not_even_read(toy: Path, tmp_path: Path) -> None:
    def act(_: RunEvent, gained: Gain | None) -> None:
        if isinstance(gained, Point):
            (toy / "spec.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")

    def look_again() -> str:
        stop()
        return "It belongs to another."

    _, said = watch(toy, act, look_again)
    assert said == ["It belongs to another."]
    assert not (tmp_path / "ran").exists()


def test_run_watch_prints_a_line_a_save_until_it_is_stopped(toy: Path, tmp_path: Path) -> None:
    keep_ceilings(tmp_path / "cache")
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "PYTHONUNBUFFERED": "1",
    }
    words = [
        "run",
        "toy/eager",
        "--kernels",
        toy.parent,
        "--device",
        "cpu",
        "--watch",
        "--out",
        "a.roofscope",
    ]
    command = [sys.executable, str(ROOT / "main.py"), *map(str, words)]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout
    printed: list[str] = []

    def line_with(text: str) -> str:
        assert process.stdout
        for line in process.stdout:
            printed.append(line)
            if text in line:
                return line
        raise AssertionError(f"no line with {text!r} in {printed}")

    try:
        line_with("Watching ")
        assert "before" not in line_with("toy / eager PyTorch fp32 64Ki: ")
        (toy / "eager.py").write_text("def run(x):\n    return (x + x).clone().clone()\n")
        second = line_with("toy / eager PyTorch fp32 64Ki: ")
        assert "before" in second
        assert "ceiling" in second
        (toy / "eager.py").write_text("def run(x):\n    return x +\n")
        assert "(its time stays " in line_with("build error at eager.py:2: SyntaxError")
        process.send_signal(signal.SIGINT)
        line_with("Session:  ")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert len(load(tmp_path / "a.roofscope").points) == 3


def test_a_save_before_the_files_are_watched_is_not_missed(toy: Path) -> None:
    """Between the scan and the worker's start lie devices, questions and a new session."""
    stamps, catalog = stamps_of([toy.parent]), scan([LIBRARY, toy.parent])
    points: list[Point] = []
    text = "def run(x):\n    return x + x\n"

    def act(_: RunEvent, gained: Gain | None) -> None:
        if isinstance(gained, Point):
            points.append(gained)
            stop()

    (toy / "eager.py").write_text(text)
    watch(toy, act, catalog=catalog, stamps=stamps)
    assert [type(point.outcome) for point in points] == [Measured]
    found = scan([LIBRARY, toy.parent]).kernel("toy")
    assert found
    assert points[0].implementation == found.implementation("eager")


def test_what_a_worker_read_otherwise_is_planned_again_even_if_no_save_is_seen(toy: Path) -> None:
    """Saved before it is watched, and so never noticed: the plan is not lost, nor its quality."""
    catalog = scan([LIBRARY, toy.parent])
    (toy / "eager.py").write_text("def run(x):\n    return x + x\n")
    banners: list[Banner] = []
    points: list[Point] = []

    def act(report: RunEvent, gained: Gain | None) -> None:
        if isinstance(report, Banner):
            banners.append(report)
            stop()
        if isinstance(gained, Point):
            points.append(gained)
            stop()

    watch(toy, act, catalog=catalog)
    assert banners == []
    assert [type(point.outcome) for point in points] == [Measured]
    assert points[0].job.id == "job-2"


def test_kernels_that_a_worker_never_reads_alike_are_said_and_not_tried_for_ever(toy: Path) -> None:
    catalog = replace(scan([LIBRARY, toy.parent]), hash="another")

    def again() -> Catalog:
        if len(STARTS) > 20:
            stop()
        return catalog

    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        stop()

    watch(toy, lambda _event, _gain: None, again, catalog=catalog, say=say)
    assert len(said) == 1
    assert "differ from those here" in said[0]
    assert len(STARTS) < 20
