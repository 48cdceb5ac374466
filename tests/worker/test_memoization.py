"""The look for a memory: passes on new contents beside passes on contents that were there before."""

import pytest
import torch

from roofscope.profiling.worker.job.memoization import Memory, find_memory, fingerprint, pass_length


class FakePasses:
    """Passes of these lengths in seconds: a busy moment now and then slows any of them."""

    def __init__(self, fresh_s: list[float], repeated_s: list[float]) -> None:
        self._next = {False: iter(fresh_s), True: iter(repeated_s)}
        self._seen = False
        self.passes = 0

    def refresh(self, *, seen: bool) -> None:
        self._seen = seen

    def seconds(self) -> float:
        self.passes += 1
        return next(self._next[self._seen])


def test_a_memory_is_found_with_its_times() -> None:
    passes = FakePasses([0.020, 0.019, 0.050, 0.020, 0.020], [0.001, 0.002, 0.001, 0.004, 0.001])
    assert find_memory(passes) == Memory(0.019, 0.001)


def test_one_pair_that_does_not_differ_is_enough() -> None:
    passes = FakePasses([0.020, 0.010], [0.010, 0.010])
    assert find_memory(passes) is None
    assert passes.passes == 4


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
