"""Other work on the machine is not taken for a result that was kept."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
import torch

from roofscope.profiling.worker.job import memoization
from roofscope.profiling.worker.job.memoization import remembers

SETS = [(torch.zeros(1),), (torch.zeros(1),)]


class Machine:
    """A clock that calls alone move, by 1 ms, and that makes those after a refresh wait as the test says."""

    def __init__(self, waits_s: list[float], *, keeps: bool = False) -> None:
        self.now_s = self.waited_s = 0.0
        self._waits_s, self._keeps = waits_s, keeps
        self._seen: set[float] = set()
        self.fresh_calls = 0

    def call(self, x: torch.Tensor) -> torch.Tensor:
        value = float(x)
        is_fresh = value not in self._seen
        self._seen.add(value)
        if is_fresh:
            wait_s = self._waits_s[self.fresh_calls] if self.fresh_calls < len(self._waits_s) else 0.0
            self.fresh_calls += 1
            self.waited_s += wait_s
            self.now_s += wait_s
        self.now_s += 1e-3 if is_fresh or not self._keeps else 1e-5
        return x

    def refresh(self, inputs: tuple[torch.Tensor, ...]) -> None:
        inputs[0].add_(1.0)

    def perf_counter_ns(self) -> int:
        return round(self.now_s * 1e9)

    @contextmanager
    def waits(self) -> Generator[Callable[[], float]]:
        yield lambda: self.waited_s


def found(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> bool:
    monkeypatch.setattr(memoization, "time", machine)
    monkeypatch.setattr(memoization, "waits", machine.waits)
    return remembers(machine.call, SETS, machine.refresh, 0.02)


def test_a_busy_machine_accuses_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the first passes on fresh contents waits for a core as long as two calls take."""
    machine = Machine([2e-3] * 15)
    assert not found(monkeypatch, machine)
    assert machine.fresh_calls == 16


@pytest.mark.parametrize("busy", [0, 15, 100])
def test_a_kept_result_is_found_on_a_busy_machine_too(monkeypatch: pytest.MonkeyPatch, busy: int) -> None:
    assert found(monkeypatch, Machine([2e-3] * busy, keeps=True))
