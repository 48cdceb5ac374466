"""Why a point is where it is, in words: the same four sentences in the window, the command line and JSON."""

import json
from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest

from roofscope.app.presentation.why import TITLES, Why, WhyTexts, choice_text, why_of_one
from roofscope.app.presentation.why_limits import limit_words
from roofscope.app.presentation.why_record import why_records
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.advice.doubles import Doubles
from roofscope.profiling.analysis.advice.rules import AnyAdvice, advise
from roofscope.profiling.analysis.export import SessionDocument, json_report
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session_reader import load

SESSIONS = ("h200-gelu", "h200", "h200-tour")


def why(name: str, number: int) -> Why:
    session = load(ASSETS / "sessions" / f"{name}.roofscope")
    found = WhyTexts(session).of(next(point for point in session.points if point.number == number))
    assert found is not None
    return found


def test_a_gelu_in_double_says_the_line_the_cost_and_who_shows_how():
    found = why("h200-gelu", 6)
    assert found.limit == "Double arithmetic limits it, not memory."
    assert found.cost == "That costs 268 µs of its 393.5 µs a call: DRAM copy allows 126 µs."
    assert "ine 14 of cuda_textbook.cu computes in double" in found.evidence
    assert "In bf16 it takes as long, 390 µs." in found.evidence
    assert "0.5f" in found.next_step
    assert found.next_step.endswith("Triton sigmoid does the same work in 127 µs.")


def test_a_softmax_in_several_passes_says_how_many_bytes_could_have_moved():
    found = why("h200", 75)
    assert found.limit.startswith("Probably how it reads memory")
    assert "3.37× as many" in found.evidence
    assert "292 µs of its 416.0 µs" in found.cost


def test_a_compiled_version_that_is_slower_says_to_stay_with_eager_first():
    found = why("h200-gelu", 10)
    assert found.next_step == "Stay with eager here: this one is 0.946× as fast (95 % CI 0.943 to 0.948)."
    assert found.others[0].startswith("Compare its source with that of Triton sigmoid")


def test_a_product_bound_by_power_names_the_clock_that_it_held():
    found = why("h200", 221)
    assert found.limit == "Power limits it: the board lowers its clock."
    assert "1592 MHz of 1980 MHz" in found.evidence
    assert found.cost.startswith("That costs at most 264 µs of its 1.349 ms a call")


def test_one_point_among_many_reads_as_it_does_with_all_of_them():
    session = load(ASSETS / "sessions" / "h200.roofscope")
    texts = WhyTexts(session)
    for point in session.points[::7]:
        assert why_of_one(point, session) == texts.of(point)


@pytest.mark.parametrize("name", SESSIONS)
def test_each_measured_point_has_four_whole_sentences(name: str):
    session = load(ASSETS / "sessions" / f"{name}.roofscope")
    texts = WhyTexts(session)
    for point in session.points:
        found = texts.of(point)
        assert (found is not None) is (point.measured is not None)
        if found is None:
            continue
        for sentence in (*(sentence for _, sentence in found.titled), *found.others):
            assert sentence.endswith("."), sentence
            assert "None" not in sentence
            assert "–" not in sentence, sentence  # the sign of what is missing
            assert "  " not in sentence
            assert ".." not in sentence


def test_every_rule_has_words():
    seen = {type(each): each for name in SESSIONS for each in _all_advice(name)}
    assert len(seen) > len(get_args(AnyAdvice)) / 2
    for each in seen.values():
        assert choice_text(each)


def _all_advice(name: str) -> Iterator[AnyAdvice]:
    session = load(ASSETS / "sessions" / f"{name}.roofscope")
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
    session = load(ASSETS / "sessions" / "h200-gelu.roofscope")
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
