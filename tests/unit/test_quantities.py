"""Figures that no machine gives are refused where they are read."""

import math
from typing import Any

import msgspec
import pytest

from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.analysis.export import csv_report, json_report
from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.outcome import Outcome, TimeStats
from roofscope.profiling.roofline.roofline import Ceiling
from roofscope.tests.fuzz.exercise import shown_as_table
from roofscope.tests.sessions import CEILINGS, make_session

POINT = make_session().points[0]


def changed(value: Any, path: str, new: object) -> bytes:
    """As JSON, with one field of it replaced."""
    plain = holder = msgspec.to_builtins(value)
    *parents, last = path.split(".")
    for name in parents:
        holder = holder[name]
    assert last in holder
    holder[last] = new
    return msgspec.json.encode(plain)


@pytest.mark.parametrize("value", [0, -1e-3, 5e-324, 1e300])
@pytest.mark.parametrize("path", ["time.median_s", "hot.median_s"])
def test_no_call_takes_such_a_time(path: str, value: float) -> None:
    with pytest.raises(UnreadableError, match=r"Expected `float`"):
        decode(changed(POINT.outcome, path, value), Outcome)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("time.samples_s", []),
        ("time.samples_s", [0.0]),
        ("time.calls_per_block", 0),
        ("time.rounds", [1, 2, 3]),
        ("time.clocks_hz", [1e9]),
        ("build.registers", -1),
        ("verification.shape_count", 2**63),
        ("host_s", -1.0),
        ("calls_s", [-1e-6]),
    ],
)
def test_no_measurement_holds_such_figures(path: str, new: object) -> None:
    with pytest.raises(UnreadableError):
        decode(changed(POINT.outcome, path, new), Outcome)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1.0, 5e-324, 1e300])
def test_no_ceiling_is_there(value: float) -> None:
    with pytest.raises(UnreadableError):
        decode(changed(CEILINGS[0], "value", value), Ceiling)


@pytest.mark.parametrize(
    ("path", "new"), [("work.flop_count", -1), ("work.read_bytes", 10**19), ("workload.sizes", {"n": -1})]
)
def test_no_job_has_such_work(path: str, new: object) -> None:
    with pytest.raises(UnreadableError):
        decode(changed(POINT.job, path, new), Job)


def test_a_point_of_a_kernel_that_the_session_does_not_know_is_shown() -> None:
    session = make_session()
    renamed = msgspec.structs.replace(POINT.implementation, kernel="unknown")
    session.points = (msgspec.structs.replace(POINT, implementation=renamed), *session.points[1:])
    assert "<svg" in roofline_svg(session)
    assert csv_report(session)
    assert json_report(session)
    assert shown_as_table(session) == ""


def test_an_interval_of_blocks_far_apart_is_wide_and_no_error() -> None:
    one = TimeStats(1e9, 1e-12, 1e9, (1e-12, 1e9, 1.0, 1.0, 1.0), 1)
    other = TimeStats(1e-12, 1e-12, 1e9, (1e-12, 1e9, 1.0, 1.0, 1.0), 1)
    found, _ = compare(one, other, in_turn=False, comparisons=1000)
    assert 0 < found.low < found.ratio <= found.high < math.inf
