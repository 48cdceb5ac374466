"""How often an implementation is called until it has settled."""

import pytest
import torch

from roofscope.profiling.worker.candidate import settling
from roofscope.profiling.worker.candidate.settling import let_settle


@pytest.mark.parametrize(
    ("seconds", "calls", "is_long"),
    [
        ([1e-3] * 3, 3, False),
        ([60.0, 1e-3, 1e-3], 3, False),  # a compiler
        ([2.0, 2.0], 2, True),
        ([60.0, 3.0], 2, True),  # it may have compiled twice: the next call, which is timed, shows that
        ([60.0, 0.05, 0.2], 3, True),
        ([60.0, 0.05, 0.05], 3, True),
    ],
)
def test_a_long_call_settles_by_two(
    monkeypatch: pytest.MonkeyPatch, seconds: list[float], calls: int, is_long: bool
) -> None:
    now, made = [0.0], list[torch.Tensor]()

    def call(x: torch.Tensor) -> torch.Tensor:
        made.append(x)
        return x

    def synchronize() -> None:
        now[0] += seconds[len(made) - 1]

    monkeypatch.setattr(settling.time, "perf_counter", lambda: now[0])
    assert let_settle(call, (torch.zeros(1),), synchronize) is is_long
    assert len(made) == calls
