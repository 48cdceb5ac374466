"""Whether a trace keeps to its format: each fault by itself, and traces that were recorded."""

import gzip
import json
from typing import Any

import pytest

from roofscope.app.presentation.traces.exported import exported_json_gz
from roofscope.profiling.results.session_reader import load, load_trace
from roofscope.profiling.traces.lone_flows import without_lone_flows
from roofscope.profiling.traces.validity import faults_of
from roofscope.tests.recorded import kept
from roofscope.tests.trace_events import RECORDED

SLICE = {"ph": "X", "name": "kernel", "cat": "kernel", "pid": 0, "tid": 7, "ts": 5.0, "dur": 2.0}
BEGIN = {"ph": "s", "id": 1, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": 4.0}
END = {"ph": "f", "id": 1, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 5.0, "bp": "e"}


def faults(*events: Any) -> tuple[str, ...]:
    return faults_of(json.dumps({"traceEvents": events}).encode())


def test_a_valid_trace_has_none() -> None:
    meta = {"ph": "M", "name": "process_name", "pid": "Spans", "args": {"name": "python"}}
    assert faults(SLICE, BEGIN, END, meta) == ()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ph": "Z"}, "1 events have the phase 'Z', which the format does not know."),
        ({"ph": ""}, "1 events have the phase '', which the format does not know."),
        ({"ts": None}, "1 events of phase X have no finite time."),
        ({"dur": -1.0}, "1 events of phase X have no duration, or a negative one."),
        ({"dur": None}, "1 events of phase X have no duration, or a negative one."),
        ({"pid": None}, "1 events of phase X name no process."),
        ({"tid": None}, "1 events of phase X name no thread."),
        ({"ph": "s"}, "1 events of phase s have no id."),
    ],
)
def test_each_fault_has_its_sentence(changed: dict[str, Any], words: str) -> None:
    assert faults(SLICE | changed) == (words,)


def test_flows_have_both_ends_in_order() -> None:
    assert faults(END) == ("1 flows end and begin nowhere.",)
    assert faults(BEGIN, BEGIN | {"id": 2}, END) == ("1 flows begin and end nowhere.",)
    assert faults(BEGIN | {"ts": 6.0}, END) == ("1 flows end before they begin.",)


def test_slices_of_two_events_are_closed() -> None:
    opened, closed = SLICE | {"ph": "B"}, SLICE | {"ph": "E"}
    assert faults(opened, closed) == ()
    assert faults(opened) == ("1 slices begin and end nowhere.",)
    assert faults(closed, opened, closed) == ("1 slices end and begin nowhere.",)


def test_what_is_no_trace_is_said_so() -> None:
    for content in (b"", b"{}", b"[]", b'{"traceEvents": 1}', b"\x89PNG"):
        [fault] = faults_of(content)
        assert fault.startswith("It is no JSON object with a list traceEvents")
    [fault] = faults(7)
    assert fault.startswith("1 events cannot be read")


def test_traces_that_a_session_exports_are_valid() -> None:
    path = kept("h200-tour")
    traces = load(path).traces
    assert traces
    for trace in traces:
        as_recorded = faults_of(gzip.decompress(load_trace(path, trace.number)))
        assert all("flows" in fault for fault in as_recorded), as_recorded
        assert faults_of(gzip.decompress(exported_json_gz(path, trace.number))) == ()


@pytest.mark.parametrize(("name", "lone"), [("block-eager", 32), ("block-compiled", 32), ("operators", 251)])
def test_of_recorded_traces_only_arrows_with_one_end_are_left_out(name: str, lone: int) -> None:
    """Kineto's, at calls that launch nothing; README.md beside the traces counts them."""
    written = gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes())
    text = without_lone_flows(written)
    assert faults_of(text) == ()
    before, after = (json.loads(each) for each in (written, text))
    left_out = [event for event in before["traceEvents"] if event not in after["traceEvents"]]
    assert len(left_out) == len(before["traceEvents"]) - len(after["traceEvents"]) == lone
    assert {event["ph"] for event in left_out} == {"s", "f"}
    for each in (before, after):
        del each["traceEvents"]
    assert before == after
    assert without_lone_flows(text) == text


LONE, OTHER = END | {"id": 9}, BEGIN | {"id": "9", "cat": "fwdbwd"}


@pytest.mark.parametrize(
    "events",
    [
        [LONE],
        [LONE, SLICE],
        [SLICE, LONE],
        [LONE, OTHER, SLICE, LONE, OTHER, BEGIN, END, LONE, OTHER],
        [SLICE, OTHER, OTHER],
        [BEGIN, LONE, END],
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_what_stands_round_a_lone_arrow_stays(events: list[dict[str, Any]], indent: int | None) -> None:
    text = json.dumps({"a": 1, "traceEvents": events, "b": "c"}, indent=indent).encode()
    kept_events = [event for event in events if event not in (LONE, OTHER)]
    found = json.loads(without_lone_flows(text))
    assert found == {"a": 1, "traceEvents": kept_events, "b": "c"}


def test_what_is_broken_or_no_trace_stays_as_it_is() -> None:
    cut = json.dumps({"traceEvents": [LONE, SLICE]}).encode()[:-4]
    for text in (b"", b"older", b"[]", b'{"traceEvents": []}', cut):
        assert without_lone_flows(text) == text
