"""The look for a memory: passes on new contents beside passes on contents that were there before."""

import pytest
import torch

from roofscope.profiling.worker.job import memoization
from roofscope.profiling.worker.job.memoization import (
    Memory,
    NeverCalm,
    Pass,
    find_memory,
    fingerprint,
    pass_length,
)


class FakePasses:
    """Passes of these lengths in seconds; threads waited for a core in the first ones on fresh contents."""

    def __init__(self, fresh_s: list[float], repeated_s: list[float], busy: int = 0) -> None:
        self._next = {False: iter(fresh_s), True: iter(repeated_s)}
        self._busy = busy
        self._seen = False
        self.passes = 0

    def refresh(self, *, seen: bool) -> None:
        self._seen = seen

    def run(self) -> Pass:
        self.passes += 1
        self._busy -= not self._seen
        return Pass(next(self._next[self._seen]), is_calm=self._seen or self._busy < 0)


def test_a_memory_is_found_with_its_times() -> None:
    passes = FakePasses([0.020, 0.019, 0.050, 0.020, 0.020], [0.001, 0.002, 0.001, 0.004, 0.001])
    assert find_memory(passes) == Memory(0.019, 0.001)


def test_one_pair_that_does_not_differ_is_enough() -> None:
    passes = FakePasses([0.020, 0.010], [0.010, 0.010])
    assert find_memory(passes) is None
    assert passes.passes == 4


def test_other_work_on_the_machine_is_not_taken_for_a_memory() -> None:
    passes = FakePasses([0.030] * 10 + [0.010], [0.010] * 11, busy=10)
    assert find_memory(passes) is None
    assert passes.passes == 22


def test_a_memory_is_found_where_the_machine_is_calm_at_times() -> None:
    assert find_memory(FakePasses([0.030] * 100, [0.001] * 100, busy=10)) == Memory(0.030, 0.001)


def test_nobody_is_accused_where_the_machine_is_never_calm() -> None:
    with pytest.raises(NeverCalm):
        find_memory(FakePasses([0.030] * 100, [0.001] * 100, busy=100))


@pytest.mark.parametrize(
    ("sets", "call_s", "length"), [(4, 1e-4, 2), (1, 10.0, 1), (4096, 1e-5, 8), (64, 0.01, 2)]
)
def test_a_pass_is_long_enough_and_leaves_sets_to_spare(sets: int, call_s: float, length: int) -> None:
    assert pass_length(sets, call_s) == length


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_fingerprint_sees_one_changed_element(dtype: torch.dtype) -> None:
    inputs = (torch.rand(1000).to(dtype), torch.zeros(0, dtype=dtype))
    before = fingerprint(inputs)
    assert fingerprint(inputs) == before
    inputs[0][7] += 1
    assert fingerprint(inputs) != before


def test_disturbed_passes_are_not_tried_for_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass may take seconds, where a kernel's own threads have the cores."""
    passes = FakePasses([6.0] * 100, [6.0] * 100, busy=100)
    monkeypatch.setattr(memoization.time, "monotonic", lambda: 6.0 * passes.passes)
    with pytest.raises(NeverCalm):
        find_memory(passes)
    assert passes.passes == 2
