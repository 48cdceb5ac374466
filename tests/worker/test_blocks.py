"""How long a call is thought to take, which decides how many make a block."""

from collections.abc import Callable

import pytest
import torch

from roofscope.profiling.worker.timing import blocks
from roofscope.profiling.worker.timing.blocks import BlockReading

FIRST_S, LATER_S = 1.5, 0.5e-3


class FakePair:
    """Reads the first calls as long as the test sets, later ones as short."""

    first_s = FIRST_S

    def __init__(self, clock: object) -> None:
        self._is_first = True

    def time(self, work: Callable[[], None], calls: int, lead_s: float) -> BlockReading:
        work()
        seconds = self.first_s if self._is_first else LATER_S
        self._is_first = False
        return BlockReading(seconds, None)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(blocks, "_EventPair", FakePair)
    return []


def _estimate(called: list[int]) -> float:
    def call(x: torch.Tensor) -> torch.Tensor:
        called.append(int(x))
        return x

    sets = [(torch.tensor(value),) for value in (0, 1)]
    return blocks._estimate_s(call, sets, torch.device("cuda"), None)  # pyright: ignore[reportPrivateUsage]


def test_calls_that_compile_are_timed_again(called: list[int]) -> None:
    """The second set may take another branch: an estimate of 1.5 s would make blocks of one call."""
    assert _estimate(called) == LATER_S
    assert called == [0, 1, 0, 0]


def test_quick_calls_are_all_timed_again(called: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePair, "first_s", 2e-3)
    assert _estimate(called) == LATER_S
    assert called == [0, 1, 0] * 2
