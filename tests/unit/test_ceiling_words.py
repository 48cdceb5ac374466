"""What is said of a ceiling: a nameplate is called one, and conditions are shown with a measured one."""

from msgspec.structs import replace

from roofscope.app.cli.table import table_lines
from roofscope.app.presentation.ceiling_conditions import conditions_text
from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.point_row import PointRow
from roofscope.app.presentation.roofline.ceiling_words import Words
from roofscope.app.presentation.verdict_text import (
    ceiling_text,
    distance_text,
    share_text,
    verdict_sentence,
)
from roofscope.profiling.analysis.verdict import Verdict, verdict
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.conditions import Conditions
from roofscope.profiling.roofline.roofline import Bound, Source
from roofscope.tests import sessions

NAMEPLATES = [ceiling for ceiling in sessions.CEILINGS if ceiling.source is Source.NAMEPLATE]


def judged(session: Session) -> tuple[Point, Verdict]:
    point = next(
        point for point in session.points if point.measured and point.implementation.kernel == "gelu"
    )
    return point, verdict(point, session)


def test_a_share_of_a_nameplate_is_called_that_everywhere() -> None:
    """After a stopped probe, or where a reading was refused, there is nothing else to judge by."""
    session = sessions.make_session(ceilings=NAMEPLATES)
    point, found = judged(session)
    assert "of the DRAM nameplate ceiling" in verdict_sentence(point, found)
    assert distance_text(found).endswith("to DRAM nameplate")
    assert share_text(found).endswith(" % of nameplate")
    of_roof = next(column for column in COLUMNS if column.title == "Of roof")
    row = PointRow(point, found, None)
    assert of_roof.text(row) == share_text(found)
    facts = {fact.name: fact.value for part in sections(row, session) for fact in part.facts}
    assert facts["Ceiling"] == "DRAM, 4.81 TB/s, nameplate"
    assert any("of nameplate" in line.plain for line in table_lines(session, 200))


def test_a_share_of_a_measured_ceiling_needs_no_word() -> None:
    point, found = judged(sessions.make_session())
    assert "nameplate" not in verdict_sentence(point, found)
    assert share_text(found).endswith(" %")


def test_a_source_beside_the_name_is_said_once() -> None:
    assert ceiling_text(NAMEPLATES[0]) == "DRAM 4.81 TB/s"
    assert ceiling_text(sessions.ceiling(Bound.FP64_TENSOR, 62e12)) == "FP64 tensor 62.0 TFLOP/s"


def test_the_roof_at_a_points_clock_tells_the_kernels_headroom_from_the_clocks() -> None:
    """Held by the power cap: 76 % of the ceiling, but 95 % of what the pipe does at the clock held."""
    at_full = replace(sessions.ceiling(Bound.BF16, 849e12), clock_hz=1980e6)
    session = sessions.make_session(ceilings=[at_full])
    job = sessions.job("matmul", Dtype.BFLOAT16, "large", "job-1")
    held = 849e12 * 1592 / 1980
    outcome = sessions.measured(job.work.flop_count / (0.95 * held))
    outcome = replace(outcome, evidence=replace(outcome.evidence, clock_hz=1592e6))
    point = Point(1, job, job.implementations[0], outcome, sessions.RECORDED_AT)
    row = PointRow(point, verdict(point, session), None)
    facts = {fact.name: fact.value for part in sections(row, session) for fact in part.facts}
    assert facts["Roof at its clock"] == "683 TFLOP/s at 1592 MHz, of which 95 %"
    slow = PointRow(point, verdict(point, sessions.make_session(ceilings=NAMEPLATES[:1])), None)
    names = [fact.name for part in sections(slow, session) for fact in part.facts]
    assert "Roof at its clock" not in names  # a memory's does not follow that clock


def test_conditions_are_told_in_words() -> None:
    found = Conditions(
        clock_hz=1592e6,
        clock_low_hz=1580e6,
        clock_high_hz=1601e6,
        memory_clock_hz=3201e6,
        power_w=698,
        temperature_c=61,
        ecc_enabled=True,
        other_process_count=1,
        event_reasons=("power cap",),
    )
    plain = sessions.ceiling(Bound.BF16, 8e14)
    assert conditions_text(plain) == ""
    assert conditions_text(replace(plain, conditions=found)) == (
        "1592 MHz, 1580 to 1601; memory 3201 MHz, 698 W, 61 °C, ECC on; power cap, 1 other process"
    )
    sampled = Conditions(sampled_clock_hz=1980e6)
    assert conditions_text(replace(plain, conditions=sampled)) == "1980 MHz by the driver's samples"


def test_lines_of_one_value_are_all_named_where_there_is_room_and_both_ends_where_not() -> None:
    """In a low chart the nearest rows share one: the nameplates of three pipes of one rate, say."""
    row = [
        sessions.ceiling(Bound.FP64_TENSOR, 66.9e12),
        sessions.ceiling(Bound.FP32, 66.9e12),
        replace(sessions.ceiling(Bound.FP32, 66.9e12), source=Source.NAMEPLATE_HELD),
        sessions.ceiling(Bound.HALF2, 66.9e12),
    ]
    words = Words(short=True, says_source=True)
    assert words.row(row, lambda text: len(text) < 45) == "FP64 tensor · FP32 · half2 66.9 T"
    assert words.row(row, lambda _: False) == "FP64 tensor to half2 66.9 T"
    assert words.row(row[:2], lambda text: "burst" not in text) == "FP64 tensor · FP32 66.9 T"
