"""Traces as Kineto writes them, valid and not; the times in here are invented."""

import gzip
import json

import pytest

from roofscope.profiling.results.chrome_trace import MOST_BYTES, TraceError, read_trace


def _event(name: str, cat: str, ts: float, dur: float, tid: int | str = 7) -> dict[str, object]:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 0,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {"s": [1]},
    }


def _file(events: list[str]) -> bytes:
    body = ",\n  ".join(events)
    return gzip.compress(
        f'{{"schemaVersion": 1, "traceEvents": [\n  {body}\n  ],\n  "traceName": "t.json"\n}}'.encode()
    )


EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 0, "tid": "spans", "ts": 1.5, "args": {"name": "python"}},
    _event("aten::softmax", "cpu_op", 0, 50),
    _event("softmax_kernel", "kernel", 10, 4.0),
    _event("softmax_kernel", "kernel", 20, 2.0),
    _event("Memset (Device)", "gpu_memset", 30, 2.0),
]


def test_device_kernels_are_summed_and_sorted():
    summary = read_trace(_file([json.dumps(event) for event in EVENTS]))
    assert summary.on_device
    assert (summary.event_count, summary.dropped_count) == (5, 0)
    first, second = summary.rows
    assert (first.name, first.count) == ("softmax_kernel", 2)
    assert first.total_s == pytest.approx(6e-6)
    assert first.mean_s == pytest.approx(3e-6)
    assert (first.share, second.share) == pytest.approx((0.75, 0.25))


def test_operators_count_their_own_time_only():
    events = [
        _event("outer", "cpu_op", 0, 100),
        _event("inner", "cpu_op", 10, 30),
        _event("inner", "cpu_op", 50, 20),
        _event("leaf", "cpu_op", 12, 5),
        _event("elsewhere", "cpu_op", 10, 1, tid=8),
    ]
    summary = read_trace(_file([json.dumps(event) for event in events]))
    assert not summary.on_device
    own = {row.name: row.total_s for row in summary.rows}
    assert own == pytest.approx({"outer": 50e-6, "inner": 45e-6, "leaf": 5e-6, "elsewhere": 1e-6})


def test_an_unescaped_quote_costs_one_event_only():
    lines = [json.dumps(event) for event in EVENTS]
    lines[2] = lines[2].replace("softmax_kernel", 'soft"max')
    summary = read_trace(_file(lines))
    assert summary.dropped_count == 1
    assert {row.name: row.count for row in summary.rows} == {"softmax_kernel": 1, "Memset (Device)": 1}


def test_a_control_character_costs_nothing():
    lines = [json.dumps(event) for event in EVENTS]
    lines[2] = lines[2].replace("softmax_kernel", "soft\x01max")
    summary = read_trace(_file(lines))
    assert summary.dropped_count == 0
    assert {row.name for row in summary.rows} == {"soft max", "softmax_kernel", "Memset (Device)"}


def test_a_truncated_trace_keeps_its_beginning():
    packed = _file([json.dumps(event) for event in EVENTS * 200])
    summary = read_trace(packed[: len(packed) // 2])
    assert 0 < summary.event_count < 1000


@pytest.mark.parametrize(
    "content",
    [b"", b"plain text", gzip.compress(b"[]", mtime=0), gzip.compress(b'{"a": 1}', mtime=0)],
    ids=["nothing", "text", "a list", "no events"],  # gzip writes the time into its bytes
)
def test_what_is_no_trace_gives_one_sentence(content: bytes):
    with pytest.raises(TraceError, match=r"record it again\.$"):
        read_trace(content)


HOSTILE = {
    "no bytes at all": None,
    "text of SQLite's": "text",
    "nested": gzip.compress(b'{"traceEvents":' + b"[" * 100_000),
    "no UTF-8": gzip.compress(b'{"traceEvents":[{"name":"\xff"}'),
    "a time without end": gzip.compress(b'{"traceEvents":[{"ph":"X","dur":1e999}]}'),
    "a time of ages": gzip.compress(b'{"traceEvents":[{"ph":"X","cat":"kernel","dur":1e300}]}'),
    "a time below zero": gzip.compress(b'{"traceEvents":[{"ph":"X","cat":"kernel","dur":-1}]}'),
    "a thread of 300 digits": gzip.compress(b'{"traceEvents":[{"ph":"X","tid":1' + b"0" * 300 + b"}]}"),
    "what unpacks without measure": gzip.compress(b" " * (MOST_BYTES + 1), 1),
    "events without number": gzip.compress(b'{"traceEvents":[' + b"{}," * 1_000_001 + b"{}]}", 1),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_trace_gives_one_sentence(content: bytes) -> None:
    with pytest.raises(TraceError, match=r"\.$"):
        read_trace(content)


def test_times_that_no_event_has_are_left_out_and_counted() -> None:
    times = [1.0, 1e300, -5.0, 3.0]
    summary = read_trace(_file([json.dumps(_event(f"k{time}", "kernel", 0, time)) for time in times]))
    assert [row.name for row in summary.rows] == ["k3.0", "k1.0"]
    assert (summary.event_count, summary.dropped_count) == (2, 2)
    assert sum(row.share for row in summary.rows) == pytest.approx(1)
