"""How long foreign code may take: a call that should take milliseconds seconds, a compiler minutes."""

from typing import Any

import pytest

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Work, Workload
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.supervision.protocol import StageStarted
from roofscope.profiling.worker.candidate.messages import (
    Block,
    Build,
    Call,
    Collect,
    Get,
    Record,
    RunPass,
    Settle,
)
from roofscope.profiling.worker.job import waiting
from roofscope.profiling.worker.job.deadlines import Deadlines, roof_s
from roofscope.profiling.worker.job.waiting import Waiting

GPU = Device(
    "cuda:0",
    DeviceKind.CUDA,
    "NVIDIA H200",
    "GPU-1",
    core_count=16896,
    multiprocessor_count=132,
    compute_capability=(9, 0),
    max_clock_hz=1.98e9,
    max_memory_clock_hz=3.2e9,
    bus_width_bits=6016,
)
WORKLOAD = Workload("toy", Dtype.FLOAT32, {"n": 1})


def job(work: Work, provider: Provider = Provider.EAGER) -> Job:
    return Job("job-1", "cuda:0", WORKLOAD, work, (Implementation("toy", provider, "", "hash"),))


def built(of: Job, device: Device = GPU) -> Deadlines:
    deadlines = Deadlines(of, device)
    deadlines.of(Build(0, of.implementations[0], "", WORKLOAD, ()))
    return deadlines


SMALL = Work(65536, 262144, 262144)


def test_the_roof_is_that_of_the_data_sheet_and_a_slow_machines_where_there_is_none() -> None:
    assert roof_s(Work(0, 4_800_000_000, 0), GPU) == pytest.approx(1e-3, rel=0.01)
    assert roof_s(Work(0, 10_000_000, 0), cpu_device()) == pytest.approx(1e-3)
    assert roof_s(Work(10_000_000, 0, 0), cpu_device()) == pytest.approx(1e-3)


@pytest.mark.parametrize("provider", [Provider.EAGER, Provider.CUDA, Provider.CUDA_EXT])
def test_a_call_has_ten_seconds_or_a_thousand_times_its_roof(provider: Provider) -> None:
    for work, seconds in ((SMALL, 10.0), (Work(0, 96_000_000_000, 0), 20.0), (Work(10**18, 1, 1), 240.0)):
        deadlines = built(job(work, provider))
        assert deadlines.of(Call(0, "verified")).seconds == pytest.approx(max(seconds, 15.0), rel=0.01)
        deadlines.learn(Call(0, "verified"), 1e-3)
        assert deadlines.of(Call(0, "verified")).seconds == pytest.approx(seconds, rel=0.01)
        assert deadlines.of(Block(0)).seconds == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize("provider", [Provider.TRITON, Provider.COMPILE, Provider.LIBRARY])
def test_what_compiles_has_minutes_until_the_launch_returns(provider: Provider) -> None:
    """A launch returns at once: what is waited for then is a kernel, and an endless one has seconds."""
    deadlines = built(job(SMALL, provider))
    assert deadlines.of(Call(0, "verified")).seconds == 240.0
    assert deadlines.of(Settle(0, "sets", has_hot=False)).seconds == 240.0
    assert deadlines.of(Collect()).seconds == 10.0


def test_slow_calls_have_many_times_as_long_as_they_took() -> None:
    deadlines = built(job(SMALL), cpu_device())
    deadlines.learn(Call(0, "verified"), 4.0)
    assert deadlines.of(Settle(0, "sets", has_hot=False)).seconds == 80.0
    deadlines.learn(Settle(0, "sets", has_hot=False), 16.0)
    assert deadlines.of(Block(0)).seconds == 80.0
    deadlines.learn(Block(0), 1.0)
    assert deadlines.of(Block(0)).seconds == 80.0  # a hot block says nothing of a cold call
    assert deadlines.of(RunPass(0, 2)).seconds == 160.0


def test_on_a_gpu_the_wait_for_results_is_the_calls_time() -> None:
    """The launch returns at once, and the odd sizes that are verified are small."""
    deadlines = built(job(SMALL))
    for waited_s in (6.0, 0.01):
        deadlines.learn(Call(0, "verified"), 1e-3)
        deadlines.learn(Collect(), waited_s)
    assert deadlines.of(Settle(0, "sets", has_hot=False)).seconds == pytest.approx(120.0, rel=0.01)


def test_a_trace_of_what_compiles_has_minutes() -> None:
    assert built(job(SMALL, Provider.TRITON)).of(Record(0, "traced")).seconds == 240.0
    assert built(job(SMALL)).of(Record(0, "traced")).seconds == 60.0


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(waiting, "time", clock)
    return clock


def test_each_wait_is_announced_but_blocks_cost_a_line_a_second(clock: Clock) -> None:
    said: list[StageStarted] = []
    toy = job(SMALL)
    wait = Waiting(toy, GPU, said.append)
    wait.begin(Stage.MEASURE, toy.implementations[0], "1 in turn")
    assert said[-1].deadline_s == 240.0
    del said[:]
    for _ in range(300):
        with wait.answer(Block(0)):
            clock.now += 0.01
    assert 1 <= len(said) <= 4
    assert {(stage.deadline_s, stage.detail) for stage in said} == {(10.0, "1 in turn")}


def test_after_an_answer_the_referee_works_at_its_own_deadline(clock: Clock) -> None:
    said: list[Any] = []
    toy = job(SMALL)
    wait = Waiting(toy, GPU, said.append)
    wait.begin(Stage.VERIFY, toy.implementations[0])
    with wait.answer(Call(0, "verified")):
        assert said[-1].deadline_s == 15.0
    assert said[-1].deadline_s == 240.0
    with wait.answer(Get(0)):
        assert said[-1].deadline_s == 15.0
    with wait.reference():
        assert (said[-1].deadline_s, said[-1].detail) == (15.0, "reference")
    assert (said[-1].deadline_s, said[-1].detail) == (240.0, "")


def fail_in(wait: Waiting, request_: Call | Get) -> None:
    with wait.answer(request_):
        raise RuntimeError


@pytest.mark.parametrize("request_", [Call(0, "verified"), Get(0)])
def test_what_follows_a_failure_has_the_referees_own_deadline(clock: Clock, request_: Call | Get) -> None:
    """Else the next implementation would be ended for the end of the one that failed."""
    said: list[StageStarted] = []
    toy = job(SMALL)
    wait = Waiting(toy, GPU, said.append)
    wait.begin(Stage.VERIFY, toy.implementations[0])
    clock.now += 8.0
    with pytest.raises(RuntimeError):
        fail_in(wait, request_)
    assert said[-2].deadline_s == 15.0
    assert said[-1].deadline_s == 240.0
