"""The self-test on the CPU: traps are caught by the real executor, and the command tells what it found."""

import math
import subprocess
import threading
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from torch.utils._python_dispatch import TorchDispatchMode

from roofscope.profiling.analysis.causal import clock_elasticity
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.results.outcome import ClockElasticity, Flag
from roofscope.profiling.results.proof import Proof, ProofName, Row
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.worker.failures import CancelRequested
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.job import candidate_process, link, passes
from roofscope.profiling.worker.job.candidate_process import own_process
from roofscope.profiling.worker.selftest import causal_limiter, nsight_compute, runner, traps
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.selftest.trap_sources import HONEST, TRAPS, Trap
from roofscope.profiling.worker.timing import turn, wall_timer
from roofscope.profiling.worker.timing.block import BlockReading
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.tests.children import python
from roofscope.tests.worker.command_line import main


@pytest.fixture
def rig() -> Rig:
    return Rig(Instruments(cpu_device()), lambda: None, own_process)


class WorkClock(TorchDispatchMode):
    """A clock that ticks at each operation of torch: time is work, whatever else the machine does."""

    TICK_NS = 1_000_000

    def __init__(self) -> None:
        super().__init__()
        self._now_ns = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._now_ns += self.TICK_NS
        return func(*args, **(kwargs or {}))

    def perf_counter_ns(self) -> int:
        return self._now_ns

    def perf_counter(self) -> float:
        return self._now_ns * 1e-9

    def sleep(self, seconds: float) -> None:
        self._now_ns += round(seconds * 1e9)


@pytest.fixture
def by_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks take the time of their work, by both clocks; other work on this machine is no matter."""
    monkeypatch.setattr(turn, "_MOST_PREEMPTED", 1.0)
    for module in (passes, wall_timer):
        monkeypatch.setattr(module, "MOST_WAITED", math.inf)
    with WorkClock() as clock:
        for module in (wall_timer, link, candidate_process):
            monkeypatch.setattr(module, "time", clock)
        yield


def laid(rig: Rig, folder: Path, name: str) -> Row:
    """What becomes of the cheat of this name."""
    trap = next(trap for trap in TRAPS if trap.name == name)
    traps.write(folder, trap)
    return traps.try_cheat(rig, scan([folder]), trap)


def test_the_causal_limiter_is_no_matter_of_a_cpu(rig: Rig) -> None:
    proof = causal_limiter.prove(rig)
    assert (proof.name, proof.passed) == (ProofName.CAUSAL_LIMITER, None)
    assert proof.reason_skipped.startswith("On a CPU")


class Replayed:
    """A timer that the stage gets: what its call queues, and no time of its own."""

    calls_per_block = 25

    def __init__(self, call: Any, sets: list[InputSet], hz: Iterator[float], mixes: list[Any]) -> None:
        call(*sets[0])
        cycles, self._wait_s = mixes[-1]
        self._cycles, self._hz = cycles, hz

    def block(self) -> BlockReading:
        hz = next(self._hz)
        return BlockReading(self._cycles / hz + self._wait_s, hz)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_a_mix_is_planted_in_cycles_and_seconds(
    rig: Rig, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixes: list[Any] = []
    clock = SimpleNamespace(mix=lambda cycles, wait_s: mixes.append((cycles, wait_s)))
    hz = cycle([1980e6, 1500e6, 1700e6, 1600e6])
    monkeypatch.setattr(rig.instruments, "timer", lambda call, sets: Replayed(call, sets, hz, mixes))
    monkeypatch.setattr(causal_limiter, "_BUDGET_S", 0.0)
    heater = SimpleNamespace(heat=lambda _: None, wait=lambda: None)
    rig.device = replace(rig.device, max_clock_hz=1980e6)
    call: Any = causal_limiter.planted(rig, clock, heater, share)  # pyright: ignore[reportArgumentType]
    cycles, wait_s = mixes[-1]
    assert cycles / 1980e6 + wait_s == pytest.approx(causal_limiter.CALL_S, rel=1e-6)
    assert cycles / 1980e6 == pytest.approx(share * causal_limiter.CALL_S, rel=1e-6)
    found = clock_elasticity(call.blocks)
    assert isinstance(found, ClockElasticity)
    assert found.value == pytest.approx(call.known, abs=1e-6)
    assert share <= call.known <= share + 0.1


# Three have tests of their own: a busy machine, or Dynamo, would have a say in them.
APART = {"by_content", "thread", "tuning"}


@pytest.mark.parametrize("name", [t.name for t in TRAPS if not t.needs_gpu and t.name not in APART])
def test_a_planted_cheat_is_caught(rig: Rig, tmp_path: Path, name: str) -> None:
    row = laid(rig, tmp_path, name)
    assert row.passed, row.note


@pytest.mark.usefixtures("by_work")
def test_a_result_cached_by_content_is_flagged(rig: Rig, tmp_path: Path) -> None:
    row = laid(rig, tmp_path, "by_content")
    assert row.passed, row.note
    assert Flag.REMEMBERS in row.note


def test_work_put_off_to_a_thread_is_caught(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread has not begun when the result is read."""
    monkeypatch.setattr(threading.Thread, "start", lambda _: None)
    row = laid(rig, tmp_path, "thread")
    assert row.passed, row.note


@pytest.mark.exhaustive
def test_tuning_in_the_timed_region_is_caught(tmp_path: Path) -> None:
    """In a process of its own: what dynamo leaves behind is none of the other tests' business."""
    code = (
        "import sys; from pathlib import Path; from roofscope.profiling.planning.catalog import scan\n"
        "from roofscope.tests.worker.test_selftest import *\n"
        "trap = next(trap for trap in TRAPS if trap.name == 'tuning')\n"
        "root = Path(sys.argv[1]); traps.write(root, trap)\n"
        "rig = Rig(Instruments(cpu_device()), lambda: None, own_process)\n"
        "print(traps.try_cheat(rig, scan([root]), trap).note)\n"
    )
    done = subprocess.run([*python(code), tmp_path], capture_output=True, text=True, check=False)
    assert "not settled" in done.stdout, done.stderr


@pytest.mark.usefixtures("by_work")
def test_a_cheat_that_passes_for_honest_is_told(rig: Rig, tmp_path: Path) -> None:
    """The judge of traps itself: honest work laid out as a trap is not caught."""
    trap = Trap("no_trap", "no trap at all", HONEST)
    traps.write(tmp_path, trap)
    row = traps.try_cheat(rig, scan([tmp_path]), trap)
    assert row.passed is False
    assert "as if it were honest" in row.note


def test_a_proof_that_breaks_fails_and_takes_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: Rig) -> Proof:
        raise RuntimeError("no such luck\nmore")

    first, second = ProofName.KNOWN_DURATION, ProofName.PROFILER
    monkeypatch.setitem(runner.STEPS, first, runner.Step(broken, 1.0))
    proofs: list[Proof] = []
    announced: list[str] = []

    def announce(detail: str, _: float) -> None:
        announced.append(detail)

    runner.carry_out(
        (second, first), Instruments(cpu_device()), own_process, proofs.append, announce, lambda: None
    )
    assert [(proof.name, proof.passed) for proof in proofs] == [(first, False), (second, None)]
    assert proofs[0].finding == "Could not be carried out: no such luck"
    assert "this is a CPU" in proofs[1].reason_skipped
    assert announced == ["known duration (1 of 2)", "profiler (2 of 2)"]


def test_a_cancelled_self_test_ends_at_once() -> None:
    def cancelled() -> None:
        raise CancelRequested

    with pytest.raises(CancelRequested):
        runner.carry_out((), Instruments(cpu_device()), own_process, pytest.fail, lambda *_: None, cancelled)


NCU = """==PROF== Connected to process 17
"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
{rows}
==PROF== Disconnected
"""


def test_ncus_table_is_read_case_by_case() -> None:
    values = [*("9,500",) * nsight_compute.CALLS, *("127,100",) * nsight_compute.CALLS]
    rows = "\n".join(f'"{i}","17","neg","gpu__time_duration.sum","ns","{v}"' for i, v in enumerate(values))
    assert nsight_compute.durations_of(NCU.format(rows=rows), 2) == pytest.approx([9.5e-6, 127.1e-6])
    with pytest.raises(nsight_compute.NcuRefused, match="saw 24 kernels where 36"):
        nsight_compute.durations_of(NCU.format(rows=rows), 3)
    unknown = rows.replace('"ns"', '"fortnight"')
    with pytest.raises(nsight_compute.NcuRefused, match="fortnight"):
        nsight_compute.durations_of(NCU.format(rows=unknown), 2)


def test_the_command_prints_stores_and_exits_by_what_it_found(tmp_path: Path) -> None:
    out = tmp_path / "a.roofscope"
    done = main(tmp_path, "selftest", "--device", "cpu", "--proof", "profiler", "--proof", "cold is cold",
                "--out", out)  # fmt: skip
    assert done.returncode == 1, done.stderr  # nothing was proved
    assert "2 skipped" in done.stdout
    assert "this is a CPU" in done.stdout
    session = load(out)
    assert [proof.name for proof in session.proofs] == [ProofName.PROFILER, ProofName.COLD_CACHE]
    assert session.device is not None
    assert session.device.id == "cpu"


@pytest.mark.exhaustive
def test_known_durations_are_read_on_a_cpu(tmp_path: Path) -> None:
    """That it is carried out and reported; whether it passes depends on the machine's noise."""
    done = main(tmp_path, "selftest", "--device", "cpu", "--proof", "known duration",
                "--out", tmp_path / "a.roofscope")  # fmt: skip
    [proof] = load(tmp_path / "a.roofscope").proofs
    assert done.returncode == {"passed": 0, "failed": 1, "inconclusive": 3}[proof.judgement]
    assert "slope" in proof.finding
    assert [row.label for row in proof.rows] == [f"{us} µs" for us in (2, 5, 10, 20, 50, 100, 1000)]
    assert "headline" in done.stdout
