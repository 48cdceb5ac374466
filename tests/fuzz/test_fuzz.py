"""A short fuzz of each reader and view, the same inputs each time. The long one: `roofscope.tests.fuzz`."""

import random
from typing import Any

import msgspec
import pytest

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofscope.app.presentation.report.page import report_html
from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.planning.spec import KernelSpec
from roofscope.profiling.results.outcome import Outcome
from roofscope.profiling.supervision.protocol import Event, ProtocolError, event_decoder
from roofscope.tests.fuzz import exercise
from roofscope.tests.fuzz.exercise import shown_as_svg, shown_as_table
from roofscope.tests.fuzz.runner import Tally, run_one, table
from roofscope.tests.fuzz.sessions import good_session
from roofscope.tests.fuzz.targets import TARGETS
from roofscope.tests.fuzz.values import plain_values

COUNTS = {
    "lines": 300,
    "traces": 300,
    "timelines": 150,
    "ceilings": 300,
    "specs": 300,
    "stories": 100,
    "session bytes": 200,
    "session values": 200,
    "table": 60,
    "advice": 60,
    "compare": 60,
    "report": 25,
    "csv": 25,
    "svg": 60,
}
QUIET = settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("name", COUNTS)
def test_every_input_ends_in_a_value_or_a_named_error(name: str) -> None:
    target, tally = TARGETS[name], Tally(name)
    target.feed(target.make(random.Random(0)))
    for number in range(COUNTS[name]):
        run_one(target.make, target.feed, f"1:{name}:{number}", tally)
    assert tally.is_clean, table([tally])


@QUIET
@given(plain_values(Event))
def test_any_event_is_read_or_refused(plain: Any) -> None:
    line = msgspec.json.encode({"secret": "secret", "event": plain})
    [found] = event_decoder("secret").feed(line + b"\n")
    if not isinstance(found, ProtocolError):
        assert decode(msgspec.json.encode(found), Event) == found  # type: ignore[arg-type]


@QUIET
@given(plain_values(KernelSpec), plain_values(Outcome))
def test_any_outcome_of_any_kernel_is_shown(spec_plain: Any, outcome_plain: Any) -> None:
    try:
        spec = decode(msgspec.json.encode(spec_plain), KernelSpec)
        outcome = decode(msgspec.json.encode(outcome_plain), Outcome)  # type: ignore[arg-type]
    except UnreadableError:
        return
    session = msgspec.structs.replace(good_session())
    first, *rest = session.points
    job = msgspec.structs.replace(
        first.job, workload=msgspec.structs.replace(first.job.workload, kernel=spec.name)
    )
    session.points = (msgspec.structs.replace(first, job=job, outcome=outcome), *rest)
    session.specs = {**session.specs, spec.name: spec}
    for show in (shown_as_table, shown_as_svg):
        assert show(session) == ""


@QUIET
@given(st.recursive(st.none() | st.integers() | st.floats(allow_nan=False) | st.text(), st.lists))
def test_any_json_is_no_outcome(plain: Any) -> None:
    with pytest.raises(UnreadableError):
        decode(msgspec.json.encode(plain), Outcome)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("<script>alert(1)</script>", "a script or a style that is not the page's own"),
        ("<img src='file:///x'>", "an attribute that acts: img"),
        ("<b onclick='x'>a</b>", "an attribute that acts: b onclick"),
        ("<b>a", "the page does not parse: main"),
        ("\x1b", "an escape reaches the page"),
    ],
)
def test_what_a_name_plants_in_a_report_is_found(
    planted: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = report_html(good_session())
    exercise.own_parts()
    assert exercise.shown_as_report(good_session()) == ""
    monkeypatch.setattr(exercise, "report_html", lambda _: text.replace("</main>", f"{planted}</main>"))
    assert exercise.shown_as_report(good_session()) == said
