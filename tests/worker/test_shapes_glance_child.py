"""In which order a quick look times versions, and when it looks again, on invented times without a GPU."""

import math
import multiprocessing
import os
from collections.abc import Callable
from typing import Any

import pytest
import torch

from roofscope.benchmarks.shapes import glance_child
from roofscope.benchmarks.shapes.glance import Task
from roofscope.benchmarks.shapes.glance_child import (
    BLOCKS,
    MORE_BLOCKS,
    Point,
    in_turn,
    seen_once_or_twice,
    sets_of,
)
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.timing.block import BlockReading
from roofscope.tests.kernels.cases import CATALOG

TASK = Task("copy", Dtype.FLOAT32, 1, "any", {"n": 4}, ("triton_tiles", "eager"), ("triton_tiles",))


def test_versions_take_turns_and_either_half_of_the_rounds_has_both_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[Any] = []

    class Pair:
        lead_s = 3e-4

        def time(self, work: Callable[[], None], calls: int, lead_s: float) -> BlockReading:
            assert lead_s == Pair.lead_s  # all is queued before the first call begins
            queued.clear()
            work()
            assert len(queued) == calls
            assert uploaded == {"a", "b"}
            order.append(queued[0])
            return BlockReading(2e-5, None)

    class Graph:
        def __init__(self, name: str) -> None:
            self.replay = lambda: queued.append(name)

    queued: list[str] = []
    uploaded: set[str] = set()
    monkeypatch.setattr(glance_child.torch.cuda, "synchronize", lambda: uploaded.update(queued))
    monkeypatch.setattr(glance_child, "EventPair", lambda _: Pair())
    graphs: Any = {"eager": Graph("a"), "triton_tiles": Graph("b")}
    found = in_turn(graphs, 10, 8)
    assert {stem: len(blocks) for stem, blocks in found.items()} == {"eager": 8, "triton_tiles": 8}
    assert found["eager"][0] == pytest.approx(2.0)
    rounds = ["".join(order[first : first + 2]) for first in range(4, len(order), 2)]
    for half in (rounds[::2], rounds[1::2]):
        assert sorted(half) == ["ab", "ab", "ba", "ba"]


def test_one_replay_stands_for_the_blocks_of_a_version_that_is_hopeless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may take a second a call, and every other process waits for the device meanwhile."""
    replayed: list[str] = []

    class Pair:
        lead_s = 0.0

        def time(self, work: Callable[[], None], calls: int, lead_s: float) -> BlockReading:
            work()
            return BlockReading(1.0 if replayed[-1] == "slow" else 1e-3 * calls, None)

    class Graph:
        def __init__(self, name: str) -> None:
            self.replay = lambda: replayed.append(name)

    monkeypatch.setattr(glance_child.torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(glance_child, "EventPair", lambda _: Pair())
    graphs: Any = {"slow": Graph("slow"), "fast": Graph("fast")}
    found = in_turn(graphs, 10, 8)
    assert replayed.count("slow") == 2  # its upload too
    assert found["slow"] == (1e5,) * 8
    assert len(found["fast"]) == 8


def test_what_is_not_written_is_wrong_though_the_version_in_front_left_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = torch.empty(4)  # what the allocator hands to every version

    def write(x: torch.Tensor) -> torch.Tensor:
        return memory.copy_(x)

    def write_nothing(_: torch.Tensor) -> torch.Tensor:
        return memory

    monkeypatch.setattr(glance_child, "poison", lambda stains, device: memory.fill_(math.nan))
    kernel = CATALOG.kernel("copy")
    assert kernel is not None
    point = Point(kernel, TASK, "cpu")
    point.calls = {"eager": write, "triton_tiles": write_nothing}
    assert point.right(point.maker.make(TASK.sizes)) == ["eager"]
    assert point.notes["triton_tiles"].startswith("wrong: ")


@pytest.mark.parametrize(("first", "counts"), [(1.2, [BLOCKS]), (0.92, [BLOCKS, MORE_BLOCKS])])
def test_what_looks_nearly_too_slow_is_timed_again_and_only_that_counts(
    first: float, counts: list[int]
) -> None:
    asked: list[int] = []

    def timed(blocks: int) -> dict[str, tuple[float, ...]]:
        asked.append(blocks)
        eager = first if len(asked) == 1 else 1.01
        return {"eager": (eager,) * blocks, "triton_tiles": (1.0,) * blocks}

    seen = seen_once_or_twice(TASK, {}, timed)
    assert asked == counts
    assert seen.ratio == pytest.approx(first if len(asked) == 1 else 1.01)


def test_a_shape_is_seen_by_the_versions_that_are_right_and_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With played graphs; what fails at its capture is noted."""
    point: Any = object.__new__(glance_child.Point)
    point.task, point.notes = TASK, {}
    point.calls = {"triton_tiles": "tiles", "eager": "waits", "compile_default": "compiled"}
    monkeypatch.setattr(glance_child.Point, "compile", lambda _: None)
    monkeypatch.setattr(glance_child.Point, "_sets", lambda _: ["one", "two"])
    monkeypatch.setattr(glance_child.Point, "right", lambda self, _: list(self.calls))

    class Graph(str):
        def replay(self) -> None:
            pass

    class Pool:
        def capture(self, call: str, sets: list[str], calls: int) -> str:
            assert calls == len(sets)
            if call == "waits":
                raise RuntimeError("no graph holds it")
            return Graph(call)

    monkeypatch.setattr(glance_child, "OutputPool", Pool)
    monkeypatch.setattr(glance_child.torch.cuda, "synchronize", lambda: None)
    took = {"tiles": 4e-6, "compiled": 6e-6}
    monkeypatch.setattr(glance_child, "EventPair", lambda _: None)
    monkeypatch.setattr(glance_child, "_replayed", lambda _, graph, __: took[graph])
    seen = point.look(1.3)
    assert seen.times == {"triton_tiles": pytest.approx(2.0), "compile_default": pytest.approx(3.0)}
    assert seen.notes == {"eager": "no graph holds it"}
    assert seen.ratio == pytest.approx(1.5)
    assert seen.seconds > 0.0
    assert seen.floor_us == 1.3


@pytest.mark.parametrize(
    ("set_bytes", "count"), [(200 << 20, 2), (20 << 20, 8), (1 << 20, 150), (900 << 10, 24), (0, 24)]
)
def test_sets_leave_the_cache_cold_or_all_stay_in_it(set_bytes: int, count: int) -> None:
    assert sets_of(set_bytes, 50 << 20) == count


def test_others_still_meet_where_a_process_died(capfd: pytest.CaptureFixture[str]) -> None:
    context = multiprocessing.get_context("fork")
    together: Any = context.Barrier(2)
    died = context.Process(target=os._exit, args=(3,))
    died.start()
    died.join()
    seen: set[int] = set()
    for _ in range(2):  # asked again and again, it stands in once
        glance_child.stand_in_for_dead([died], together, seen)
    for _ in range(4):
        together.wait(60)
    assert capfd.readouterr().err == "Process 0 ended with exit code 3, its shapes unseen.\n"
