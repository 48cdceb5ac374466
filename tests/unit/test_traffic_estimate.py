"""Bytes estimated from times: bounds hold whatever a call does, and what cannot be estimated is not."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from roofscope.profiling.analysis.traffic_estimate import (
    Reuse,
    TrafficEstimate,
    estimate_of,
    estimated,
    held_bytes,
)
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.tests.sessions import DEVICE, make_session

DRAM, L2 = 4e12, 9e12  # byte/s
MOVED = 500_000_000  # compulsory


def counted(session: Session) -> Iterator[tuple[Point, TrafficEstimate, float]]:
    """Each counted point of a shipped session: what its times say and what the counter says, in bytes."""
    for point in session.points:
        one, counters = estimate_of(point, session), session.counters.get(point.number)
        if one and counters and counters.dram_bytes:
            yield point, one, counters.dram_bytes


def found(moved: float, on_chip_s: float | None) -> TrafficEstimate:
    """Of a call that moves so much and never waits for anything but DRAM or the chip."""
    cold_s = max(moved / DRAM, on_chip_s or 0.0)
    return estimated(MOVED, cold_s, DRAM, on_chip_s)


def test_a_call_that_takes_what_its_bytes_take_needs_no_model() -> None:
    one = found(1.02 * MOVED, None)
    assert one.low == MOVED
    assert one.high == pytest.approx(1.02 * MOVED)
    assert one.estimate == pytest.approx(1.01 * MOVED, rel=1e-3)


@pytest.mark.parametrize("times", [2.0, 6.0])
def test_bytes_that_are_fetched_again_are_estimated_where_the_chip_is_fast(times: float) -> None:
    one = found(times * MOVED, times * MOVED / L2)
    assert one.low <= times * MOVED <= one.high * (1 + 1e-9)
    assert one.estimate == pytest.approx(times * MOVED, rel=0.02)


def test_a_call_that_the_chip_binds_has_bounds_alone() -> None:
    """It moves no more than it must, and takes three times as long."""
    one = found(MOVED, 3 * MOVED / DRAM)
    assert (one.low, one.estimate) == (MOVED, None)
    assert one.high == pytest.approx(3 * MOVED)
    assert "chip" in one.why


def test_without_a_time_in_the_cache_a_slow_call_has_bounds_alone() -> None:
    assert found(3 * MOVED, None).estimate is None


def test_short_launches_have_bounds_alone() -> None:
    assert estimated(MOVED, 300e-6, DRAM, 50e-6, launches=20).estimate is None
    assert estimated(MOVED, 300e-6, DRAM, 50e-6, launches=10).estimate is not None


def of_size(point: Point, n: int, seconds: float, hot_s: float | None) -> Point:
    measured, job = point.measured, point.job
    assert measured
    scale = n / job.workload.sizes["n"]
    work = replace(
        job.work,
        flop_count=round(job.work.flop_count * scale),
        read_bytes=round(job.work.read_bytes * scale),
        write_bytes=round(job.work.write_bytes * scale),
    )
    time = replace(measured.time, median_s=seconds)
    hot = replace(measured.time, median_s=hot_s) if hot_s else None
    job = replace(job, workload=replace(job.workload, sizes={"n": n}), work=work)
    return replace(point, job=job, outcome=replace(measured, time=time, hot=hot, kernels=(), memory=None))


def test_the_chips_own_time_comes_from_two_sizes_that_l2_holds() -> None:
    session = make_session()
    point = next(p for p in session.points if p.measured and p.implementation.kernel == "gelu")
    a_byte = point.job.work.byte_count / point.job.workload.sizes["n"]
    sizes = (1 << 19, 1 << 21, 1 << 27)
    dram = session.roofline_of(point).memory_ceiling(point.job.work)
    assert dram
    times = 6 * a_byte * sizes[2] / dram.value
    launch_s = 2e-6  # in each hot time, and in no growth
    small, middle = (of_size(point, n, 1e-5, launch_s + 6 * a_byte * n / L2) for n in sizes[:2])
    large = of_size(point, sizes[2], times, None)
    session.points = (small, middle, large)
    one = estimate_of(large, session)
    assert one
    assert one.on_chip_share == pytest.approx(dram.value / L2, rel=1e-3)
    assert one.estimate == pytest.approx(6 * a_byte * sizes[2], rel=0.03)
    session.points = (middle, large)
    assert (estimate_of(large, session) or one).estimate is None
    assert DEVICE.last_level_cache_bytes


@pytest.mark.parametrize("name", ["h200-counters", "h100-counters"])
def test_counted_bytes_lie_within_the_bounds(name: str) -> None:
    """As Nsight Compute counted them for the shipped session; 3 % are for the counter."""
    session = load(ASSETS / "sessions" / f"{name}.roofscope")
    found = [*counted(session)]
    assert len(found) > 10
    for point, one, counted_bytes in found:
        assert 0.97 * one.low <= counted_bytes <= 1.03 * one.high, point.implementation.key


def test_most_estimates_are_within_a_tenth_of_the_counted_bytes() -> None:
    session = load(ASSETS / "sessions" / "h100-counters.roofscope")
    ratios = {
        point.implementation.key: one.estimate / counted_bytes
        for point, one, counted_bytes in counted(session)
        if one.estimate
    }
    near = {key for key, ratio in ratios.items() if abs(ratio - 1) <= 0.1}
    assert len({key.split("/")[0] for key in near}) >= 20
    assert len(near) >= 0.8 * len(ratios)
    assert min(ratios.values()) > 0.9  # what is missed is too high: the call reads below the ceiling


def test_what_l2_holds_is_where_the_time_is_half_way_up() -> None:
    curve = [Reuse(1, 1.0), Reuse(4, 1.0), Reuse(8, 2.0), Reuse(16, 2.0)]
    assert held_bytes(curve, 10) == pytest.approx(60)
    assert held_bytes([Reuse(1, 1.0), Reuse(2000, 1.05)], 10) is None
