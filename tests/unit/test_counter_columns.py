"""What was counted of a point, as columns of an export."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from roofscope.profiling.analysis.export import csv_report
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.results.counters import KernelCounters
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.tests.sessions import make_session, write_session
from roofscope.tests.unit.test_counting import counters


def test_what_was_counted_is_exported(tmp_path: Path) -> None:
    path = write_session(make_session(), tmp_path / "a.roofscope")
    session = load(path)
    point = next(point for point in session.points if point.measured)
    kernels = (KernelCounters("k", 2e-5, flops={"FP32": 100.0, "FP16": 6.0}, occupancy=0.25),)
    kernels += (KernelCounters("l", 1e-5, flops={"FP32": 20.0}, occupancy=0.625),)
    found = replace(counters(1.5, point), kernels=kernels, kernel_count=2)
    with SessionStore.append(path, session) as store:
        store.add_counters(point.number, found)
    [*records] = point_records(load(path))
    record = next(each for each in records if each.number == point.number)
    work = point.job.work
    assert record.counted_by == "Nsight Compute 2025.3.1"
    assert record.counted_dram_read_bytes == pytest.approx(1.5 * work.byte_count - work.write_bytes)
    assert record.counted_dram_write_bytes == work.write_bytes
    assert (record.counted_l2_bytes, record.counted_l1_bytes) == (2 * work.byte_count, 3 * work.byte_count)
    assert record.counted_dram_ratio == pytest.approx(1.5)
    stated = record.arithmetic_intensity_flop_per_byte or 0
    assert record.counted_dram_intensity_flop_per_byte == pytest.approx(stated / 1.5)
    assert record.counted_l2_intensity_flop_per_byte == pytest.approx(stated / 2)
    assert record.counted_l1_intensity_flop_per_byte == pytest.approx(stated / 3)
    executed = (record.executed_fp32_flop_count, record.executed_fp16_flop_count)
    assert (*executed, record.executed_fp64_flop_count) == (120, 6, None)
    assert record.achieved_occupancy == pytest.approx((2 * 0.25 + 0.625) / 3)
    others = [each for each in records if each.number != point.number]
    assert others
    assert all(each.counted_by is None and each.counted_l2_bytes is None for each in others)
    header, *_ = csv_report(load(path)).splitlines()
    assert "counted_dram_read_bytes" in header.split(",")


def test_flops_of_kernels_that_are_not_kept_are_not_exported(tmp_path: Path) -> None:
    path = write_session(make_session(), tmp_path / "a.roofscope")
    session = load(path)
    point = next(point for point in session.points if point.measured)
    kept = (KernelCounters("k", 1e-5, flops={"FP32": 100.0}),)
    with SessionStore.append(path, session) as store:
        store.add_counters(point.number, replace(counters(1.0, point), kernels=kept, kernel_count=2))
    record = next(each for each in point_records(load(path)) if each.number == point.number)
    assert record.executed_fp32_flop_count is None
