"""The figure by which long runs are judged."""

import mmap
import os
from collections.abc import Iterator

import pytest

from roofscope.benchmarks import growth
from roofscope.benchmarks.growth import Growth, Held, written_bytes

SIZE = 64 << 20


def test_memory_counts_once_it_is_written() -> None:
    before = written_bytes(os.getpid())
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.write(bytes(SIZE // 2))
        assert SIZE // 4 < written_bytes(os.getpid()) - before < SIZE


def sampled(found: Growth, figures: list[int], monkeypatch: pytest.MonkeyPatch) -> Growth:
    left: Iterator[int] = iter(figures)
    monkeypatch.setattr(growth, "written_bytes", lambda _: next(left))
    for _ in figures:
        found.sample(0)
    return found


def test_what_comes_with_the_first_tenth_is_no_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    warm = sampled(Growth("warm"), [100, *[900] * 19], monkeypatch)
    assert warm.after_tenth_bytes == 0
    assert warm.is_flat


def test_growth_is_no_matter_of_one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    million = 1_000_000
    grown = sampled(Growth("grown"), [at * million for at in range(40)], monkeypatch)
    assert grown.after_tenth_bytes == 33 * million
    assert not grown.is_flat
    assert sampled(Growth("one"), [*[million] * 19, 99 * million], monkeypatch).is_flat
    assert not sampled(Growth("too few"), [million] * 9, monkeypatch).is_flat


def test_a_point_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = [at * 1_000_000 for at in range(40)]
    held = sampled(Held("held", points=10_000), figures, monkeypatch)
    assert isinstance(held, Held)
    assert held.bytes_a_point == pytest.approx(33e6 / 9000)
    assert held.is_flat
    assert not sampled(Held("held", points=1000), figures, monkeypatch).is_flat
