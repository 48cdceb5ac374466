"""Single calls find the cache as cold as those of a block do."""

from collections.abc import Callable

import pytest
import torch

from roofscope.profiling.worker.timing import single_calls as module


@pytest.mark.parametrize(("sets", "cooled"), [(64, False), (65, True), (2880, True)])
def test_few_of_many_small_sets_are_driven_out_first(
    monkeypatch: pytest.MonkeyPatch, sets: int, cooled: bool
) -> None:
    """64 calls on 64 KiB each leave all they read in L2, where a second replay would find it."""
    given: list[object] = []

    def time_each(
        call: Callable[[], None], count: int, bursts: int, rest_s: float, cool: Callable[[], None] | None
    ) -> list[float]:
        given.append(cool)
        return [1.0] * count

    monkeypatch.setattr(module, "_time_each", time_each)
    monkeypatch.setattr(module, "_fill_cache", lambda: "cool")
    module.single_calls(lambda x: x, [(torch.empty(0),)] * sets, 0.0, 64)
    assert given == (["cool"] if cooled else [None])
