"""Why a point is where it is, in words: the same four sentences in the window, the command line and JSON."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.presentation.formatting import part_text, rest_text, time_text
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.point_row import point_rows
from roofscope.app.presentation.why import TITLES, Why, WhyTexts, choice_text, why_of, why_of_one
from roofscope.app.presentation.why_limits import limit_words
from roofscope.app.presentation.why_not import WhyNot
from roofscope.app.presentation.why_record import why_records
from roofscope.profiling.analysis.advice.case import Case, Cases
from roofscope.profiling.analysis.advice.doubles import Doubles
from roofscope.profiling.analysis.advice.rules import AnyAdvice, advise
from roofscope.profiling.analysis.export import SessionDocument, json_report
from roofscope.profiling.analysis.verdict import VerdictKind, verdict
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import (
    Cancelled,
    Failed,
    FailureKind,
    Flag,
    Outcome,
    SkipKind,
    Skipped,
    Stage,
)
from roofscope.profiling.results.session_reader import load
from roofscope.tests.recorded import GELU, recorded

SESSIONS = ("h200-gelu", "h200", "h200-tour")


def why(name: str, number: int) -> Why:
    session = load(recorded(name))
    found = WhyTexts(session).of(next(point for point in session.points if point.number == number))
    assert isinstance(found, Why)
    return found


@pytest.mark.parametrize(("number", "limited_by"), [(221, "power"), (200, "launch-bound")])
def test_the_table_names_what_the_sentences_name_and_no_word_twice(number: int, limited_by: str):
    session = load(recorded("h200"))
    row = next(row for row in point_rows(session, Provider.EAGER) if row.point.number == number)
    assert row.limited_by == limited_by
    flags = next(column for column in COLUMNS if column.title == "Flags").text(row)
    assert limited_by not in flags.split(", ")
    assert (Flag.LAUNCH_BOUND in row.verdict.flags) == (limited_by == "launch-bound")


def test_a_gelu_in_double_says_the_line_the_cost_and_who_shows_how():
    found = why("h200-gelu", 6)
    assert found.limit == "Double arithmetic limits it, not memory."
    assert found.cost == "That costs 267.9 µs of its 393.5 µs a call: DRAM copy allows 125.6 µs."
    assert "ine 14 of cuda_textbook.cu computes in double" in found.evidence
    assert "In bf16 it takes as long, 390 µs." in found.evidence
    assert "0.5f" in found.next_step
    assert found.next_step.endswith("Triton sigmoid does the same work in 127 µs.")


def test_a_softmax_in_several_passes_says_how_many_bytes_could_have_moved():
    found = why("h200", 75)
    assert found.limit.startswith("How it reads memory limits it, or")
    assert "3.37× as many" in found.evidence
    assert "292.4 µs of its 416.0 µs" in found.cost


@pytest.mark.parametrize(
    ("number", "limit", "evidence"),
    [
        (
            182,
            "it asks for parts of lines, and for each line several times",
            "1.00× the bytes that it must move; at L2 4.22×",
        ),
        (113, "each byte comes once, and too few are in flight, or each takes much work", "0.999×"),
    ],
)
def test_counted_bytes_tell_why_memory_is_slow(number: int, limit: str, evidence: str):
    found = why("h100-counters", number)
    assert found.limit == f"How it reads memory limits it: {limit}."
    assert evidence in found.evidence
    assert found.next_step.startswith("This kernel is PyTorch's; in one of your own, ")


def test_a_compiled_version_that_is_slower_says_to_stay_with_eager_first():
    found = why("h200-gelu", 10)
    assert found.next_step == "Stay with eager here: this one is 0.945× as fast (95 % CI 0.943 to 0.948)."
    assert found.others[0].startswith("Compare its source with that of Triton sigmoid")


def test_a_product_bound_by_power_names_the_clock_that_it_held():
    found = why("h200", 221)
    assert found.limit == "Power limits it: its roof is lower at the clock that the board holds."
    assert "1592 MHz of 1980 MHz" in found.evidence
    assert found.cost.startswith("That costs at most 264 µs of its 1.349 ms a call")


def test_one_point_among_many_reads_as_it_does_with_all_of_them():
    session = load(ASSETS / "sessions" / "h200.roofscope")
    texts = WhyTexts(session)
    for point in session.points[::7]:
        assert why_of_one(point, session) == texts.of(point)


@pytest.mark.parametrize("name", SESSIONS)
def test_each_measured_point_has_four_whole_sentences(name: str):
    session = load(recorded(name))
    texts = WhyTexts(session)
    for point in session.points:
        found = texts.of(point)
        assert found is not None
        assert len(found.titled) == (4 if point.measured else 3)
        for sentence in (*(sentence for _, sentence in found.titled), *found.others):
            assert sentence.endswith("."), sentence
            assert "None" not in sentence
            assert "–" not in sentence, sentence  # the sign of what is missing
            assert "  " not in sentence
            assert ".." not in sentence


@pytest.mark.parametrize("name", SESSIONS)
def test_a_part_and_what_is_left_add_up_to_the_time(name: str):
    """As printed: 19.0 ms of 18.97 could not be."""
    session = load(recorded(name))
    texts, seen = WhyTexts(session), 0
    pattern = re.compile(r"That costs (\S+) (\S+) of its (\S+) (\S+) a call: .* allows (\S+) (\S+)\.")
    for point in session.points:
        found = texts.of(point)
        match = pattern.fullmatch(found.cost) if isinstance(found, Why) else None
        if match is None:
            continue
        cost, unit, whole, whole_unit, allows, allows_unit = match.groups()
        if unit == whole_unit:
            assert Decimal(cost) <= Decimal(whole), found.cost
        is_of_its_size = 100 * Decimal(allows) > Decimal(whole)  # else it has digits of its own
        if unit == whole_unit == allows_unit and is_of_its_size:
            assert Decimal(cost) + Decimal(allows) == Decimal(whole), found.cost
            seen += 1
    assert seen > 3


def test_a_part_has_the_decimals_of_its_whole():
    assert (part_text(18.96e-3, 18.97e-3), time_text(18.97e-3)) == ("18.96 ms", "18.97 ms")
    assert part_text(0.2644e-3, 1.349e-3) == "264 µs"
    assert part_text(1.3e-6, 1.2344e-3) == "1.30 µs"  # of which a whole in ms shows no digit
    assert rest_text(1.9613e-6, 3.9168e-6) == "1.956 µs"  # 3.917 less 1.961
    assert part_text(None, 1.0) == "–"


def near_a_roof(name: str, number: int) -> Case:
    """A point of which the host's launch takes longer than the device, judged by the roof that it is near."""
    session = load(recorded(name))
    case = Cases(session).of(next(point for point in session.points if point.number == number))
    assert case is not None
    assert Flag.LAUNCH_BOUND in case.verdict.flags
    judged = replace(case.verdict, kind=VerdictKind.MEMORY_BOUND, fraction_of_roof=0.8)
    return replace(case, verdict=judged)


def test_a_launch_beside_a_near_roof_is_evidence_and_no_limit():
    case = near_a_roof("h200-tour", 4)
    found = why_of(case, advise(case))
    assert found.limit.startswith("Memory-bound: its roof")
    assert found.cost.startswith("That costs ")
    assert "program waits" not in found.cost
    assert "Its host takes 13.5 µs to launch it" in found.evidence
    launch = why("h200-tour", 4)  # as the verdict of this commit or the next names it
    assert "13.5 µs" in f"{launch.evidence} {launch.cost}"


def test_the_next_step_far_from_a_roof_is_never_to_stay():
    for name in SESSIONS:
        session = load(recorded(name))
        texts = WhyTexts(session)
        for point in session.points:
            found, judged = texts.of(point), verdict(point, session)
            if not isinstance(found, Why) or (judged.fraction_of_roof or 1) >= 0.6:
                continue
            assert "nothing that was measured beside it" not in found.next_step
            assert not found.next_step.startswith(("Leave its code", "Nothing recorded"))


def untimed(outcome: Outcome) -> WhyNot:
    session = load(GELU)
    point = replace(session.points[0], outcome=outcome)
    found = WhyTexts(session).of(point)
    assert found == why_of_one(point, session)
    assert isinstance(found, WhyNot)
    return found


OUTCOMES = (
    *(Failed(kind, stage, "x / y gave up") for kind in FailureKind for stage in Stage),
    *(Skipped(kind, "It lacks\nsomething.") for kind in SkipKind),
    Cancelled(),
    Failed(FailureKind.INTERNAL, Stage.BUILD, ""),
)


@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
def test_a_point_without_a_time_says_what_happened_what_that_means_and_what_to_do(outcome: Outcome):
    found = untimed(outcome)
    assert [title for title, _ in found.titled] == ["Happened", "Meaning", "Next"]
    for _, sentence in found.titled:
        assert sentence.endswith(".")
        assert "\n" not in sentence
        assert "None" not in sentence
    assert isinstance(outcome, Cancelled) or str(outcome.kind) in found.happened


def test_a_table_names_what_the_sentences_name():
    result = CliRunner().invoke(cli, ["show", str(GELU)])
    assert result.output.count("double arithmetic") == 4
    assert "on no roof" not in result.output


def test_what_is_paused_says_until_when():
    assert "until its file changes" in untimed(Failed(FailureKind.TIMEOUT, Stage.MEASURE, "Slow.")).meaning
    assert "paused" not in untimed(Failed(FailureKind.BUILD_ERROR, Stage.BUILD, "Odd.")).meaning


def test_the_command_line_says_why_a_point_has_no_time():
    path = str(GELU)
    result = CliRunner().invoke(cli, ["why", path, "1"])
    assert result.exit_code == 0
    assert "Happened" in result.output
    assert "(wrong values)" in result.output
    assert "(wrong values)" in CliRunner().invoke(cli, ["why", path]).output
    document = json.loads(CliRunner().invoke(cli, ["why", path, "1", "--json"]).output)
    assert document["points"] == []
    [record] = document["without_time"]
    assert (record["number"], record["outcome"]) == (1, "failed")
    assert "(wrong values)" in record["happened"]


def test_every_rule_has_words():
    seen = {type(each): each for name in SESSIONS for each in _all_advice(name)}
    assert len(seen) > len(get_args(AnyAdvice)) / 2
    for each in seen.values():
        assert choice_text(each)


def _all_advice(name: str) -> Iterator[AnyAdvice]:
    session = load(recorded(name))
    cases = Cases(session)
    for point in session.points:
        case = cases.of(point)
        if case:
            yield from advise(case).all


def test_a_hostile_name_of_a_file_stays_one_line_of_text():
    words = limit_words(Doubles(file="evil\n\x1b[31m.cu", lines=(1,)))
    assert words is not None
    assert "\n" not in words.evidence
    assert "\x1b" not in words.evidence


def test_the_json_of_a_session_has_the_same_sentences_and_their_figures():
    session = load(GELU)
    text = json_report(session, why_records(session))
    document = msgspec.json.decode(text, type=SessionDocument)  # each rule reads back as its own type
    record = next(record for record in document.why if record.number == 6)
    told = WhyTexts(session).of(next(point for point in session.points if point.number == 6))
    assert told is not None
    sentences = (record.limit, record.cost, record.evidence, record.next_step)
    assert tuple(zip(TITLES, sentences, strict=True)) == told.titled
    assert isinstance(record.limiter, Doubles)
    assert record.limiter.lines == (14,)
    assert record.limiter.saves_s == pytest.approx(267.9e-6, rel=1e-3)
    assert json.loads(text)["why"][0]["number"] == 2  # the first with a time


def test_one_element_a_program_is_named_by_its_blocks_and_not_by_its_doubles() -> None:
    found = why("h200-agent", 3)
    assert found.limit.startswith("Its blocks have too little to do")
    assert found.evidence.startswith("67\xa0108\xa0864 blocks of 128 threads have 8 B each to move.")
    assert "tl.arange" in found.next_step
    assert any("double precision" in other for other in found.others)


def test_what_undermines_a_time_is_said_beside_its_evidence() -> None:
    """A call that could not be queued has the host's time in it: a limit of the device is half the truth."""
    session = load(ASSETS / "sessions" / "h200-tutorials.roofscope")
    texts = WhyTexts(session)
    for point in session.points:
        found = texts.of(point)
        if isinstance(found, Why):
            is_flagged = Flag.HOST_TIME_INSIDE in verdict(point, session).flags
            assert ("the host's time is in its device time" in found.evidence) is is_flagged
    assert any(Flag.HOST_TIME_INSIDE in verdict(point, session).flags for point in session.points)
