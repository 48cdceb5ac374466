"""What a call allocates, counted on an allocator that plays torch's."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.outcome import Failed, FailureKind, MemoryUse, Stage
from roofscope.profiling.worker.candidate import host
from roofscope.profiling.worker.candidate.host import Host
from roofscope.profiling.worker.candidate.memory_use import memory_use, plausible
from roofscope.profiling.worker.candidate.messages import HostTime, MemoryRead, ReadMemory, Trouble
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.job.check_stage import Checker
from roofscope.profiling.worker.job.link import CandidateFailed

DEVICE = torch.device("cuda:0")


class Counting:
    """An allocator with a gigabyte in use before, and a peak of two from long ago."""

    def __init__(self) -> None:
        self.now, self.most = 1 << 30, 2 << 30

    def take(self, byte_count: int) -> None:
        self.now += byte_count
        self.most = max(self.most, self.now)

    def memory_allocated(self, device: torch.device) -> int:
        assert device == DEVICE
        return self.now

    def max_memory_allocated(self, device: torch.device) -> int:
        assert device == DEVICE
        return self.most

    def reset_peak_memory_stats(self, device: torch.device) -> None:
        assert device == DEVICE
        self.most = self.now


def test_temporary_is_the_peak_without_what_is_returned():
    allocator = Counting()

    def call(x: torch.Tensor) -> torch.Tensor:
        allocator.take(300)
        allocator.take(500)
        allocator.take(-300)  # freed before it returns
        return x

    found = memory_use(call, (torch.zeros(1),), DEVICE, allocator)
    assert found == MemoryUse(peak_bytes=800, output_bytes=500)
    assert found.temporary_bytes == 300


def test_a_call_that_allocates_its_output_only_has_no_temporary():
    allocator = Counting()

    def call(x: torch.Tensor) -> torch.Tensor:
        allocator.take(512)
        return x

    found = memory_use(call, (torch.zeros(1),), DEVICE, allocator)
    assert (found.output_bytes, found.temporary_bytes) == (512, 0)


def test_memory_that_shrinks_meanwhile_is_no_negative_count():
    allocator = Counting()

    def call(x: torch.Tensor) -> torch.Tensor:
        allocator.take(-4096)  # of an earlier call, given back
        return x

    assert memory_use(call, (torch.zeros(1),), DEVICE, allocator) == MemoryUse(0, 0)


@pytest.mark.parametrize(
    ("memory", "is_possible"),
    [
        (MemoryUse(800, 500), True),
        (MemoryUse(80 << 30, 0), True),
        (MemoryUse((80 << 30) + 1, 0), False),  # more than the device has
        (MemoryUse(500, 800), False),
        (MemoryUse(-1, -1), False),
        (MemoryUse(2**62, 0), False),
    ],
)
def test_what_cannot_be_is_not_taken(memory: MemoryUse, is_possible: bool) -> None:
    assert plausible(memory, 80 << 30) == (memory if is_possible else None)
    assert plausible(MemoryUse(2**62, 0), None) is None
    assert plausible(None, None) is None


class Answers:
    """A link whose candidate answers so."""

    def __init__(self, answer: MemoryRead | CandidateFailed) -> None:
        self._answer = answer

    def ask(self, *_: object) -> MemoryRead:
        if isinstance(self._answer, CandidateFailed):
            raise self._answer
        return self._answer


def failed(*, is_sound: bool) -> CandidateFailed:
    return CandidateFailed(
        Trouble(Failed(FailureKind.OUT_OF_MEMORY, Stage.CHECK, "It is full."), is_sound, False)
    )


def asked(answer: MemoryRead | CandidateFailed) -> MemoryUse | None:
    checker: Any = Checker.__new__(Checker)
    checker._on_gpu, checker._link = True, Answers(answer)
    checker._instruments = SimpleNamespace(device=SimpleNamespace(memory_bytes=80 << 30))
    eager = Implementation("gelu", Provider.EAGER, "", "hash")
    return checker._memory(SimpleNamespace(implementation=eager, number=0))


def test_one_more_call_that_fails_costs_no_result() -> None:
    assert asked(MemoryRead(MemoryUse(800, 500))) == MemoryUse(800, 500)
    assert asked(MemoryRead(MemoryUse(2**62, 0))) is None
    assert asked(failed(is_sound=True)) is None
    with pytest.raises(CandidateFailed):  # the device is broken: its worker must end
        asked(failed(is_sound=False))


def host_of(calls: list[int], monkeypatch: pytest.MonkeyPatch) -> Host:
    """One whose candidate notes its calls, on a device whose allocator counts 512 bytes for each."""

    def call(x: torch.Tensor) -> torch.Tensor:
        calls.append(len(x))
        allocator.take(512)
        return x

    def several(call: Callable[[torch.Tensor], torch.Tensor], inputs: InputSet, count: int) -> float:
        for _ in range(count):
            call(*inputs)
        return 0.5

    made: Any = Host()
    allocator = Counting()
    monkeypatch.setattr(host, "torch", SimpleNamespace(cuda=allocator, Tensor=torch.Tensor))
    monkeypatch.setattr(host, "host_seconds", several)
    made._device, made._synchronize = DEVICE, lambda: None
    built = SimpleNamespace(call=call)
    made._candidates[0] = SimpleNamespace(built=built, sets=[(torch.zeros(3),)], memory=None)
    return made


def test_a_long_call_is_timed_and_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    made: Any = host_of(calls, monkeypatch)
    (seconds,) = made._carry_out(HostTime(0, 1)).values
    assert 0 < seconds < 60
    assert made._carry_out(ReadMemory(0)) == MemoryRead(MemoryUse(512, 512))
    assert calls == [3], "a call more than it takes"


def test_memory_is_that_of_a_call_by_itself_where_several_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    made: Any = host_of(calls, monkeypatch)
    assert made._carry_out(HostTime(0, 2)).values == (0.5,)
    assert made._carry_out(ReadMemory(0)) == MemoryRead(MemoryUse(512, 512))
