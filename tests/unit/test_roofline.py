"""Roofline arithmetic against numbers worked out by hand."""

import msgspec
import pytest
from msgspec.structs import replace

from roofscope.profiling.planning.spec import Dtype, Multiply, Pipe, Work
from roofscope.profiling.roofline.roofline import (
    Bound,
    Ceiling,
    Mix,
    Roof,
    Roofline,
    Source,
    attainable,
    compute_bound,
    ridge_point,
)
from roofscope.tests.sessions import CEILINGS, ceiling

ROOFLINE = Roofline(CEILINGS)


def test_the_ridge_is_where_both_ceilings_allow_the_same() -> None:
    memory, compute = ceiling(Bound.DRAM, 4e12), ceiling(Bound.FP32, 50e12)
    assert ridge_point(memory, compute) == 12.5
    assert attainable(12.5, memory, compute) == 50e12
    assert attainable(1.0, memory, compute) == 4e12
    assert attainable(100.0, memory, compute) == 50e12


def test_the_roof_drawn_is_the_envelope_of_the_measured_mixes() -> None:
    best = ROOFLINE.best(Bound.DRAM)
    assert best is not None
    assert (best.mix, best.value) == (Mix.WRITE, 4687e9)


def test_measured_comes_before_nameplate_even_when_lower() -> None:
    best = ROOFLINE.best(Bound.BF16)
    assert best is not None
    assert (best.source, best.value) == (Source.MEASURED_BURST, 796e12)
    only_nameplate = Roofline(tuple(c for c in CEILINGS if c.source is Source.NAMEPLATE))
    best = only_nameplate.best(Bound.BF16)
    assert best is not None
    assert best.value == 1070e12
    assert ROOFLINE.best(Bound.FP64) is None


@pytest.mark.parametrize(
    ("read", "written", "mix"),
    [(100, 0, Mix.READ), (0, 100, Mix.WRITE), (50, 50, Mix.COPY), (67, 33, Mix.TRIAD), (90, 10, Mix.READ)],
)
def test_a_point_is_judged_by_the_access_mix_nearest_its_own(read: int, written: int, mix: Mix) -> None:
    found = ROOFLINE.memory_ceiling(Work(0, read, written))
    assert found is not None
    assert found.mix is mix


def test_the_limiter_is_the_slower_of_memory_and_pipe() -> None:
    memory = ROOFLINE.limiter(Work(10**9, 10**9, 10**9), Bound.FP32)
    assert memory is not None
    assert memory.ceiling.bound is Bound.DRAM
    assert memory.least_time_s == pytest.approx(2e9 / 4277e9)
    compute = ROOFLINE.limiter(Work(10**15, 10**9, 10**9), Bound.BF16)
    assert compute is not None
    assert compute.ceiling.bound is Bound.BF16
    assert compute.least_time_s == pytest.approx(1e15 / 796e12)


def test_work_without_flops_is_limited_by_memory_and_no_work_by_nothing() -> None:
    copy = ROOFLINE.limiter(Work(0, 500, 500), Bound.FP32)
    assert copy is not None
    assert copy.ceiling.mix is Mix.COPY
    assert ROOFLINE.limiter(Work(0, 0, 0), Bound.FP32) is None
    assert Roofline(()).limiter(Work(1, 1, 1), Bound.FP32) is None


def test_vector_arithmetic_runs_on_fp32_units_whatever_the_storage() -> None:
    assert compute_bound(Pipe.VECTOR, Dtype.BFLOAT16) is Bound.FP32
    assert compute_bound(Pipe.TENSOR, Dtype.FLOAT32) is Bound.FP32  # IEEE, not TF32
    assert compute_bound(Pipe.TENSOR, Dtype.FLOAT16) is Bound.FP16
    assert compute_bound(Pipe.TENSOR, Dtype.BFLOAT16) is Bound.BF16
    assert compute_bound(Pipe.PACKED, Dtype.FLOAT16) is Bound.HALF2
    assert compute_bound(Pipe.PACKED, Dtype.BFLOAT16) is Bound.BFLOAT162
    assert compute_bound(Pipe.PACKED, Dtype.FLOAT32) is Bound.FP32  # which has no pairs
    assert compute_bound(Pipe.SPECIAL, Dtype.BFLOAT16) is Bound.SPECIAL
    for multiplies in Multiply:
        assert not compute_bound(Pipe.TENSOR, Dtype.FLOAT16, multiplies).is_memory


def test_a_pipe_follows_the_clock_and_memory_does_not() -> None:
    """849 TFLOP/s at 1980 MHz are 683 at 1592: a point at 650 has 5 % left there, and 23 % at full clock."""
    pipe = Roof(replace(ceiling(Bound.BF16, 849e12), clock_hz=1.980e9), 1.0)
    held = pipe.at_clock(1.592e9)
    assert held is not None
    assert held.ceiling.value == pytest.approx(849e12 * 1592 / 1980)
    assert held.ceiling.clock_hz == 1.592e9
    assert held.ceiling.flop_per_cycle == pytest.approx(pipe.ceiling.flop_per_cycle)
    assert held.least_time_s == pytest.approx(1980 / 1592)
    memory = Roof(replace(ceiling(Bound.DRAM, 4e12), clock_hz=1.980e9), 1.0)
    assert memory.at_clock(1.592e9) == memory
    assert memory.at_clock(None) == memory


def test_a_roof_without_a_clock_has_none_at_another() -> None:
    assert Roof(ceiling(Bound.BF16, 849e12), 1.0).at_clock(1.592e9) is None
    assert Roof(replace(ceiling(Bound.BF16, 849e12), clock_hz=1.98e9), 1.0).at_clock(None) is None


def test_a_ceiling_of_an_older_session_opens() -> None:
    text = b'{"bound":"bf16","source":"nameplate","value":1.0,"method":"","device_uuid":"","recorded_at":""}'
    old = msgspec.json.decode(text, type=Ceiling)
    assert (old.clock_hz, old.conditions, old.flop_per_cycle) == (None, None, None)


def test_ceilings_of_a_bound_come_highest_first() -> None:
    values = [c.value for c in ROOFLINE.of(Bound.DRAM)]
    assert values == sorted(values, reverse=True)
    assert len(values) == 5
    assert [c.value for c in ROOFLINE.of(Bound.BF16, Source.MEASURED_SUSTAINED)] == [642e12]


def test_a_sustained_point_is_bounded_by_sustained_ceilings_where_there_are_some() -> None:
    ceilings = (
        ceiling(Bound.BF16, 796e12, Source.MEASURED_BURST),
        ceiling(Bound.BF16, 642e12, Source.MEASURED_SUSTAINED),
        ceiling(Bound.DRAM, 4277e9, Source.MEASURED_BURST, Mix.COPY),
        ceiling(Bound.DRAM, 4490e9, Source.MEASURED_SUSTAINED, Mix.READ),
        ceiling(Bound.DRAM, 4277e9, Source.MEASURED_SUSTAINED, Mix.COPY),
    )
    work = Work(10**15, 10**9, 10**9)
    sustained = Roofline(ceilings).limiter(work, Bound.BF16, Source.MEASURED_SUSTAINED)
    assert sustained is not None
    assert sustained.ceiling.value == 642e12
    memory = Roofline(ceilings).memory_ceiling(work, Source.MEASURED_SUSTAINED)
    assert memory is not None
    assert (memory.source, memory.mix) == (Source.MEASURED_SUSTAINED, Mix.COPY)
    burst_only = Roofline(ceilings[:1] + ceilings[2:3]).limiter(work, Bound.BF16, Source.MEASURED_SUSTAINED)
    assert burst_only is not None
    assert burst_only.ceiling.value == 796e12


def test_sources_are_ranked_measured_before_promised() -> None:
    ranked = sorted(Source, key=lambda source: source.rank)
    assert [source.is_measured for source in ranked] == [True, True, False, False]
    assert ranked[0] is Source.MEASURED_BURST
    assert ranked[-1] is Source.NAMEPLATE
