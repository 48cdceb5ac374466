"""Single calls find the cache as cold as those of a block do."""

from collections.abc import Generator
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


class _Cuda:
    """A graph and events that are written down; each replay takes a millisecond of a clock that is played."""

    def __init__(self, log: list[str]) -> None:
        self.log, self.now_s = log, 0.0

    def __getattr__(self, name: str) -> Any:
        return {"Event": self._event, "CUDAGraph": lambda **_: self, "graph": self._capture}[name]

    def _event(self, **_: object) -> Any:
        return SimpleNamespace(record=lambda: None, elapsed_time=lambda _: 1.0)

    @contextmanager
    def _capture(self, *_: object, **__: object) -> Generator[None]:
        yield
        self.now_s += 0.03  # while the device is idle

    def synchronize(self) -> None:
        pass

    def upload(self) -> None:
        self.log.append("upload")

    def launch(self) -> None:
        self.log.append("launch")
        self.now_s += 0.001

    def sleep(self, seconds: float) -> None:
        if seconds:
            self.log.append(f"rest of {seconds * 1e3:.0f} ms")
        self.now_s += seconds


@pytest.mark.parametrize(
    ("rest_s", "expected"),
    [
        (0.0, ["cool", "launch"]),
        (
            0.08,
            ["rest of 50 ms", "cool", "launch", "rest of 80 ms", "cool", "launch"],
        ),  # idle for 30 ms before
    ],
)
def test_what_the_cache_holds_is_driven_out_before_each_burst(
    monkeypatch: pytest.MonkeyPatch, rest_s: float, expected: list[str]
) -> None:
    """The calls that ran last leave all they read in L2, where they are few or their data small."""
    log: list[str] = []
    cuda = _Cuda(log)
    monkeypatch.setattr(module.torch, "cuda", cuda)
    monkeypatch.setattr(module, "Chain", lambda graphs, calls: cuda)
    monkeypatch.setattr(module, "_fill_cache", lambda: lambda: log.append("cool"))
    monkeypatch.setattr(block.time, "sleep", cuda.sleep)
    monkeypatch.setattr(block.time, "perf_counter", lambda: cuda.now_s)
    bursts = 2 if rest_s else 1
    sets = [(torch.empty(0),)] * 2
    found = module.single_calls(lambda x: x, sets, 0.0, 3, bursts=bursts, rest_s=rest_s)
    assert log == ["upload", *expected]
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
