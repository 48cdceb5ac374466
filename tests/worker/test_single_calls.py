"""Single calls find the cache as cold as those of a block do."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from roofscope.profiling.results.outcome import Method
from roofscope.profiling.worker.candidate.messages import Seconds, SingleCalls
from roofscope.profiling.worker.job.check_stage import Checker
from roofscope.profiling.worker.timing import block
from roofscope.profiling.worker.timing import single_calls as module


@pytest.mark.parametrize(("sets", "cooled"), [(64, False), (65, True), (2880, True)])
def test_few_of_many_small_sets_are_driven_out_first(
    monkeypatch: pytest.MonkeyPatch, sets: int, cooled: bool
) -> None:
    """64 calls on 64 KiB each leave all they read in L2, where a second replay would find it."""
    given: list[object] = []

    def time_each(
        call: Callable[[], None],
        count: int,
        bursts: int,
        rest_s: float,
        cool: Callable[[], None] | None,
        *,
        uploads_first: bool,
    ) -> list[float]:
        given.append(cool)
        return [1.0] * count

    monkeypatch.setattr(module, "_time_each", time_each)
    monkeypatch.setattr(module, "_fill_cache", lambda: "cool")
    module.single_calls(lambda x: x, [(torch.empty(0),)] * sets, 0.0, 64)
    assert given == (["cool"] if cooled else [None])


class _Cuda:
    """A graph and events that are written down; each replay takes a millisecond of a clock that is played."""

    def __init__(self, log: list[str]) -> None:
        self.log, self.now_s = log, 0.0

    def __getattr__(self, name: str) -> Any:
        return {"Event": self._event, "CUDAGraph": lambda: self, "graph": self._capture}[name]

    def _event(self, **_: object) -> Any:
        return SimpleNamespace(record=lambda: None, elapsed_time=lambda _: 1.0)

    @contextmanager
    def _capture(self, *_: object, **__: object) -> Generator[None]:
        yield
        self.now_s += 0.03  # while the device is idle

    def synchronize(self) -> None:
        pass

    def replay(self) -> None:
        self.log.append("replay")
        self.now_s += 0.001

    def sleep(self, seconds: float) -> None:
        if seconds:
            self.log.append(f"rest of {seconds * 1e3:.0f} ms")
        self.now_s += seconds


@pytest.mark.parametrize(
    ("are_long", "rest_s", "expected"),
    [
        (False, 0.0, ["replay", "replay"]),
        (True, 0.0, ["replay"]),
        (False, 0.08, ["replay", "rest of 80 ms", "replay", "rest of 80 ms", "replay"]),
        (True, 0.08, ["rest of 50 ms", "replay", "rest of 80 ms", "replay"]),  # idle for 30 ms before
    ],
)
def test_long_calls_are_not_replayed_for_the_upload_alone(
    monkeypatch: pytest.MonkeyPatch, *, are_long: bool, rest_s: float, expected: list[str]
) -> None:
    log: list[str] = []
    cuda = _Cuda(log)
    monkeypatch.setattr(module.torch, "cuda", cuda)
    monkeypatch.setattr(block.time, "sleep", cuda.sleep)
    monkeypatch.setattr(block.time, "perf_counter", lambda: cuda.now_s)
    bursts = 2 if rest_s else 1
    sets = [(torch.empty(0),)] * 2
    found = module.single_calls(lambda x: x, sets, 0.0, 3, bursts=bursts, rest_s=rest_s, are_long=are_long)
    assert log == expected
    assert found == (1e-3,) * 3 * bursts


def single_calls_asked(seconds: float, calls_per_block: int, host_s: float) -> Any:
    """What the referee asks for after blocks of such calls, or answers itself."""
    asked: list[SingleCalls] = []

    class Noting:
        def ask(self, request: SingleCalls, _: object) -> Seconds:
            asked.append(request)
            return Seconds(())

    checker: Any = Checker.__new__(Checker)
    checker._link = Noting()
    timer = SimpleNamespace(method=Method.CUDA_GRAPH, calls_per_block=calls_per_block)
    turn: Any = SimpleNamespace(
        timer=timer, rest_s=0.0, interval=SimpleNamespace(median=seconds), samples_s=[seconds] * 8
    )
    found = checker._single_calls(SimpleNamespace(turn=turn, number=0), host_s)
    return asked[0].count if asked else found


def test_single_calls_are_as_many_as_take_little_time() -> None:
    assert single_calls_asked(1e-5, 1000, 5e-6) == 64
    assert single_calls_asked(0.02, 2, 1e-4) == 6
    assert single_calls_asked(1e-3, 10, 0.02) == 6  # of a thousand kernels, each captured by the host
    assert single_calls_asked(0.5, 2, 1e-4) == 4


def test_blocks_of_one_call_are_its_single_calls() -> None:
    assert single_calls_asked(0.04, 1, 0.2) == (0.04,) * 8
