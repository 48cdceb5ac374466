"""Profiler traces from anywhere: recorded with known answers, made, broken, and what is none."""

import gzip
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.traces import source
from roofscope.profiling.traces.columns import NONE, Category, DeviceSheet, FlowKind, Trace
from roofscope.profiling.traces.reading import open_trace, read_trace_bytes
from roofscope.profiling.traces.saving import repaired_json
from roofscope.tests.traces import Planted, write_trace

RECORDED = Path(__file__).parents[1] / "data" / "traces"
Event = dict[str, Any]


def recorded(name: str) -> Trace:
    return open_trace(RECORDED / f"block-{name}.json.gz")


def counted(trace: Trace, category: Category) -> int:
    return int(np.count_nonzero(trace.slices.category == category))


def slice_(name: str, begin: float, long: float, **fields: Any) -> Event:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 2, "ts": begin, "dur": long, **fields}


def kernel(name: str, begin: float, long: float, correlation: int) -> Event:
    said = {"device": 0, "stream": 7, "correlation": correlation}
    return slice_(name, begin, long, cat="kernel", pid=0, tid=7, args=said)


def launch(begin: float, long: float, correlation: int) -> Event:
    said = {"correlation": correlation}
    return slice_("cudaLaunchKernel", begin, long, cat="cuda_runtime", args=said)


def flow(phase: str, number: Any, event: Event, cat: str = "ac2g") -> Event:
    ends = {"bp": "e"} if phase == "f" else {}
    place = {key: event[key] for key in ("pid", "tid", "ts")}
    return {"ph": phase, "id": number, "cat": cat, "name": cat, **place, **ends}


def text_of(events: list[Any], indent: int | None = None) -> str:
    return json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "t"}, indent=indent)


def read(text: str | bytes) -> Trace:
    raw = text.encode() if isinstance(text, str) else text
    return read_trace_bytes(gzip.compress(raw, 1), "t")


def read_events(*events: Any) -> Trace:
    return read(text_of(list(events)))


def names_of(trace: Trace) -> list[str]:
    return [trace.name_of(at) for at in range(len(trace.slices))]


def arrows(trace: Trace) -> list[tuple[str, str]]:
    pairs = zip(trace.flows.source.tolist(), trace.flows.target.tolist(), strict=True)
    return sorted((trace.name_of(begin), trace.name_of(end)) for begin, end in pairs)


# Recorded traces


@pytest.mark.parametrize(
    ("name", "kernels", "copies", "fills", "operators", "launches", "gradients"),
    [("eager", 135, 3, 30, 972, 168, 90), ("compiled", 153, 3, 18, 510, 174, 12)],
)
def test_a_recorded_block_has_its_slices_and_arrows(
    name: str, kernels: int, copies: int, fills: int, operators: int, launches: int, gradients: int
) -> None:
    trace = recorded(name)
    categories = (Category.KERNEL, Category.MEMCPY, Category.MEMSET, Category.CPU_OP)
    assert [counted(trace, each) for each in categories] == [kernels, copies, fills, operators]
    kinds = trace.flows.kind
    assert [int((kinds == kind).sum()) for kind in FlowKind] == [launches, gradients, 0]
    is_launch = kinds == FlowKind.LAUNCH
    begin, end = trace.flows.source[is_launch], trace.flows.target[is_launch]
    assert (trace.slices.correlation[begin] == trace.slices.correlation[end]).all()
    assert len(set(end.tolist())) == kernels + copies + fills  # each piece of device work has its arrow
    # Kineto's ends at calls that launch nothing, and its begins at cudaDeviceSynchronize.
    assert (trace.health.flows_without_begin, trace.health.flows_without_end) == (30, 2)
    assert trace.health.is_sound


def test_a_recorded_block_has_its_lanes_and_its_gpu() -> None:
    trace = recorded("eager")
    lanes = [(lane.process, lane.thread, lane.device, lane.stream) for lane in trace.lanes[:3]]
    assert lanes == [
        ("python3 (502)", "thread 502 (python3)", NONE, NONE),
        ("python3 (502)", "thread 532 (pt_autograd_0)", NONE, NONE),  # the later of its two names
        ("GPU 0", "stream 7", 0, 7),
    ]
    assert trace.devices == (DeviceSheet(0, "NVIDIA H200", 132, 150109880320, 9, 0),)
    assert len(trace.memory.time_ns) == 384
    assert (np.diff(trace.memory.time_ns) >= 0).all()
    assert trace.origin_ns == 4635829450119125


@pytest.mark.parametrize("name", ["eager", "compiled"])
def test_every_slice_says_the_arguments_of_its_own_event(name: str) -> None:
    trace = recorded(name)
    events = json.loads(trace.json_bytes())["traceEvents"]
    known = sorted(
        (round(event["ts"] * 1000) - trace.origin_ns, event["name"], json.dumps(event.get("args", {})))
        for event in events
        if event["ph"] == "X"
    )
    found = sorted(
        (int(trace.slices.start_ns[at]), trace.name_of(at), json.dumps(trace.arguments_of(at)))
        for at in range(len(trace.slices))
    )
    assert found == known


@pytest.mark.parametrize("name", ["eager", "compiled"])
def test_slices_of_one_depth_never_overlap(name: str) -> None:
    trace = recorded(name)
    for lane in range(len(trace.lanes)):
        mine = slice(int(trace.lane_begin[lane]), int(trace.lane_begin[lane + 1]))
        depth = trace.slices.depth[mine]
        assert int(depth.max()) + 1 == trace.lanes[lane].most_deep
        for level in range(int(depth.max()) + 1):
            begin = trace.slices.start_ns[mine][depth == level]
            end = trace.slices.end_ns[mine][depth == level]
            assert (end[:-1] <= begin[1:]).all()


@pytest.mark.parametrize("name", ["eager", "compiled"])
def test_a_sound_trace_is_saved_as_it_was(name: str) -> None:
    trace = recorded(name)
    assert b"".join(repaired_json(trace)) == trace.json_bytes()


# Depth


def depths_one_by_one(events: list[Event]) -> dict[str, int]:
    """By the definition: one more than the deepest that has not ended among those before."""
    found: dict[str, int] = {}
    still: list[Event] = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        while still and still[-1]["ts"] + still[-1]["dur"] <= event["ts"]:
            still.pop()
        found[event["name"]] = len(still)
        still.append(event)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_depths_are_those_of_a_stack(seed: int) -> None:
    chance = random.Random(seed)
    events = [slice_(f"{at}", chance.randrange(200), chance.randrange(40)) for at in range(150)]
    trace = read_events(*events)
    depths = dict(zip(names_of(trace), trace.slices.depth.tolist(), strict=True))
    begins = {(event["ts"], event["dur"]) for event in events}
    known = depths_one_by_one(events)
    if len(begins) == len(events):
        assert depths == known
    assert sorted(depths.values()) == sorted(known.values())


def test_two_hundred_slices_lie_in_one_another() -> None:
    trace = read_events(*(slice_(f"{at}", at, 1000 - 2 * at) for at in range(200)))
    assert trace.slices.depth.tolist() == list(range(200))
    assert trace.lanes[0].most_deep == 200


# Arrows


def test_a_launch_that_the_file_gives_two_ends_is_joined_by_its_correlation() -> None:
    """As Kineto writes a launch that is too new for its list."""
    call, work = launch(1, 2, 9), kernel("k", 5, 3, 9)
    trace = read_events(call, work, flow("f", 9, call), flow("f", 9, work))
    assert arrows(trace) == [("cudaLaunchKernel", "k")]
    assert trace.health.flows_without_begin == 1  # that of the launch itself, which ends nothing


def test_one_launch_of_a_graph_leads_to_all_its_kernels() -> None:
    call, works = launch(1, 2, 9), [kernel(f"k{at}", 5 + 4 * at, 3, 9) for at in range(3)]
    trace = read_events(call, *works, flow("s", 9, call), *(flow("f", 9, work) for work in works))
    assert arrows(trace) == [("cudaLaunchKernel", f"k{at}") for at in range(3)]
    assert (trace.health.flows_without_begin, trace.health.flows_without_end) == (0, 0)


def test_an_id_that_is_used_again_begins_another_arrow() -> None:
    ops = [slice_(f"op{at}", 10 * at, 5) for at in range(4)]
    ends = [flow(phase, "0x1", op, "x") for phase, op in zip("sfsf", ops, strict=True)]
    assert arrows(read_events(*ops, *ends)) == [("op0", "op1"), ("op2", "op3")]


def test_a_step_joins_what_is_before_and_behind_it() -> None:
    ops = [slice_(f"op{at}", 10 * at, 5) for at in range(3)]
    ends = [flow(phase, 1, op, "x") for phase, op in zip("stf", ops, strict=True)]
    assert arrows(read_events(*ops, *ends)) == [("op0", "op1"), ("op1", "op2")]


def test_a_kernel_may_begin_before_its_launch_by_the_clocks() -> None:
    call, work = launch(6, 2, 9), kernel("k", 5, 3, 9)
    trace = read_events(call, work, flow("s", 9, call), flow("f", 9, work))
    assert arrows(trace) == [("cudaLaunchKernel", "k")]


def test_an_arrow_leads_to_the_kernel_and_not_to_the_range_around_it() -> None:
    call, work = launch(1, 2, 9), kernel("k", 5, 3, 9)
    around = slice_("step", 5, 30, cat="gpu_user_annotation", pid=0, tid=7)
    trace = read_events(around, call, work, flow("s", 9, call), flow("f", 9, work))
    assert arrows(trace) == [("cudaLaunchKernel", "k")]
    assert [lane.stream for lane in trace.lanes] == [NONE, 7]


def test_an_arrow_at_a_time_within_a_slice_binds_to_the_innermost_around_it() -> None:
    outer, early, later = slice_("outer", 0, 50), slice_("early", 1, 2), slice_("later", 60, 5)
    ends = [flow("s", 1, {**outer, "ts": 20}, "x"), flow("f", 1, later, "x")]
    assert arrows(read_events(outer, early, later, *ends)) == [("outer", "later")]


# Other ways to write the same

OPERATOR = slice_("op", 10.5, 4.25, args={"External id": 3})
SAME: dict[str, Callable[[], str | bytes]] = {
    "minified": lambda: json.dumps({"traceEvents": [OPERATOR]}, separators=(",", ":")),
    "pretty": lambda: text_of([OPERATOR], indent=4),
    "a list": lambda: json.dumps([OPERATOR]),
    "a list without an end": lambda: json.dumps([OPERATOR])[:-1],
    "other order": lambda: json.dumps(
        {"z": [{"ph": 1}], "traceEvents": [OPERATOR], "a": [{"b": 1}, {"c": 2}]}
    ),
    "byte order mark": lambda: b"\xef\xbb\xbf" + text_of([OPERATOR]).encode(),
    "numbers as text": lambda: text_of(
        [{**OPERATOR, "ts": "10.5", "dur": "4.25", "args": {"External id": "3"}}]
    ),
    "comma at the end": lambda: text_of([OPERATOR]).replace("}}],", "}},],"),
    "other events": lambda: text_of(["x", None, 3, {}, [], {"ph": "X"}, OPERATOR, {"ph": "Q"}]),
    "no name": lambda: text_of([OPERATOR, {"ph": "X", "pid": [1], "tid": {}, "ts": 20, "dur": -1}]),
}


@pytest.mark.parametrize("way", SAME)
def test_it_is_read_the_same_however_it_is_written(way: str) -> None:
    trace = read(SAME[way]())
    assert names_of(trace) == ["op"]
    assert trace.slices.duration_ns.tolist() == [4250]
    assert trace.slices.external.tolist() == [3]
    assert trace.origin_ns == 10500


@pytest.mark.parametrize(
    "field",
    [
        {"name": 7},
        {"cat": ["kernel"]},
        {"args": [1, 2]},
        {"args": "text"},
        {"args": None},
        {"args": {"correlation": {"a": 1}, "External id": [1], "stream": "x", "device": 1e300}},
        {"pid": [1, 2], "tid": {"a": None}},
        {"id": 10**30, "bp": 4},
    ],
)
def test_an_unexpected_type_costs_no_other_event(field: Event) -> None:
    others = [slice_(f"op{at}", 10 * at, 5) for at in range(300)]
    trace = read_events(*others[:150], {**OPERATOR, **field}, *others[150:])
    assert len(trace.slices) == 301
    assert trace.health.dropped == 0


@pytest.mark.parametrize(
    "field", [{"ts": None}, {"ts": "soon"}, {"ts": 1e300}, {"dur": -3}, {"dur": None}, {"dur": 1e16}]
)
def test_a_slice_without_a_place_in_time_is_counted(field: Event) -> None:
    trace = read_events(slice_("good", 1, 2), {**OPERATOR, **field})
    assert names_of(trace) == ["good"]
    assert trace.health.dropped == 1


# Broken traces


def broken(*middle: str | bytes) -> bytes:
    """Events of which some are written by hand, between sound ones."""
    sound = [json.dumps(slice_(f"op{at}", 10 * at, 5)).encode() for at in range(100)]
    bad = [each if isinstance(each, bytes) else each.encode() for each in middle]
    return b'{"traceEvents": [' + b",\n".join([*sound[:50], *bad, *sound[50:]]) + b'], "traceName": "t"}'


HAND = '{"ph": "X", "cat": "kernel", "name": "%s", "pid": 1, "tid": 2, "ts": 3, "dur": 4, "args": {"a": "b"}}'
MENDED = {
    HAND % 'k<"a">': 'k<"a">',
    HAND % 'k "a", "b" c': 'k "a", "b" c',
    HAND % "k\n\x01": "k\n\x01",
    HAND % r"k\q": r"k\q",
    HAND % r"k\ud800": "k\ufffd",
    HAND % r"k\\q\q": r"k\q\q",
    HAND % r"k\ud83e\uddff\udc00": "k\U0001f9ff\ufffd",
    HAND.replace('"b"', "NaN") % "k": "k",
    HAND.replace('"b"', "-Infinity") % "k": "k",
    HAND.replace('"b"', "[1, 2,]") % "k": "k",
}


@pytest.mark.parametrize(("written", "name"), MENDED.items())
def test_one_event_is_mended_and_the_others_stay(written: str, name: str) -> None:
    trace = read(broken(written))
    assert len(trace.slices) == 101
    assert name in trace.names
    assert (trace.health.repaired, trace.health.dropped) == (1, 0)
    assert trace.arguments_of(names_of(trace).index(name)).keys() == {"a"}


def test_an_integer_without_end_is_no_argument() -> None:
    trace = read(broken(HAND.replace('"b"', "9" * 5000 + ', "c": 1') % "k"))
    assert trace.arguments_of(names_of(trace).index("k")) == {"a": None, "c": 1}


def test_bytes_that_are_no_utf_8_are_mended() -> None:
    trace = read(broken((HAND % "k?").encode().replace(b"?", b"\xff")))
    assert "k\ufffd" in trace.names
    assert trace.health.repaired == 1


@pytest.mark.parametrize("written", [HAND[:-2] % "k", HAND[:30], '{"ph" "X"}', "{" * 50])
def test_one_event_is_dropped_and_the_others_stay(written: str) -> None:
    trace = read(broken(written))
    assert trace.health.dropped >= 1
    assert {f"op{at}" for at in range(100)} <= set(trace.names) | {"op50"}  # which may go with it


@pytest.mark.parametrize("other", ["null", "3", '"x"', "[1]", "[[{}]]", '[{"ph": "X"}]'])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_event_costs_none(other: str, place: int) -> None:
    events = [json.dumps(slice_("a", 1, 2)), json.dumps(slice_("b", 5, 2))]
    events.insert(place, other)
    trace = read('{"traceEvents": [' + ", ".join(events) + "]}")
    assert names_of(trace) == ["a", "b"]
    assert (trace.health.dropped, trace.health.is_cut) == (1, False)


def test_blanks_between_events_may_be_longer_than_a_chunk() -> None:
    first, second = (json.dumps(slice_(name, 1, 2)) for name in "ab")
    trace = read('{"traceEvents": [' + first + "," + " " * 3_000_000 + second + "]}")
    assert len(trace.slices) == 2
    assert trace.health.is_sound


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_cut_trace_keeps_what_is_before_the_cut(share: float) -> None:
    whole = gzip.decompress((RECORDED / "block-eager.json.gz").read_bytes())
    trace = read(whole[: int(len(whole) * share)])
    assert trace.health.is_cut
    assert trace.health.dropped <= 1
    assert len(trace.slices) > 0


def test_a_gzip_file_that_ends_early_is_cut(tmp_path: Path) -> None:
    packed = (RECORDED / "block-eager.json.gz").read_bytes()
    path = tmp_path / "t.json.gz"
    path.write_bytes(packed[: len(packed) // 2])
    trace = open_trace(path)
    assert trace.health.is_cut
    assert len(trace.slices) > 500


def test_a_broken_trace_is_saved_repaired(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    made = write_trace(path, 30_000, planted=Planted(quotes=7, controls=5, is_cut=True))
    trace = open_trace(path)
    assert len(trace.slices) == made.slices
    assert trace.health.repaired == 24
    assert trace.health.is_cut
    saved = b"".join(repaired_json(trace))
    again = read(saved)
    assert again.health.is_sound
    assert names_of(again) == names_of(trace)
    assert json.loads(saved)["deviceProperties"][0]["name"] == "NVIDIA H200"


def test_what_stands_around_the_events_is_saved(tmp_path: Path) -> None:
    text = broken(HAND % '"k"').replace(b'{"traceEvents"', b'{"first": [1], "traceEvents"')
    assert list(json.loads(b"".join(repaired_json(read(text))))) == ["first", "traceEvents", "traceName"]


# Made traces


def test_a_made_trace_is_read_whole(tmp_path: Path) -> None:
    """Longer than several chunks, so that events lie across their ends."""
    path = tmp_path / "t.json"
    made = write_trace(path, 20_000)
    heard: list[float] = []
    trace = open_trace(path, heard.append)
    assert (trace.health.event_count, len(trace.slices)) == (made.events, made.slices)
    assert counted(trace, Category.KERNEL) == made.kernels
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    at = len(trace.slices) // 2
    event = json.loads(trace.json_bytes()[trace.slices.offset[at] :][: trace.slices.length[at]])
    assert event["name"] == trace.name_of(at)


def test_what_progress_raises_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    write_trace(path, 1000)

    def stop(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_trace(path, stop)


def test_a_zip_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", "x")
        archive.writestr("a/t.json", text_of([OPERATOR]))
    assert names_of(open_trace(path)) == ["op"]


# What is no trace


def refusal(path: Path) -> str:
    with pytest.raises(TraceError) as raised:
        open_trace(path)
    said = str(raised.value)
    assert said.endswith(".")
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"   \n ", "begins with blanks"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 100, "is no JSON"),
        ('{"traceEvents": []}'.encode("utf-16"), "is UTF-16"),
        (b"[" * 100_000, "is JSON but no trace"),
        (b'{"a":' * 100_000, "has no traceEvents"),
        (b'{"traceEvents": ' + b"[" * 100_000, "holds no slice"),
        (b'{"traceEvents": [' + b'{"args":' * 100_000, "holds no slice"),
        (b'{"traceEvents": []}', "holds no slice"),
        (b'[{"ph": "M"}]', "holds no slice"),
        (b"[1, 2]", "is JSON but no trace"),
        (b'{"a": 1}', "has no traceEvents"),
        (b"PK\x03\x04" + b"x" * 50, "cannot be unpacked"),
        (b"\x1f\x8b" + b"x" * 50, "is damaged"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(b"\x00" * 10_000_000, mtime=0), "begins with zeros"),
    ],
)
def test_what_is_no_trace_is_refused_in_a_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    assert said in refusal(path)


def bomb() -> bytes:
    return b'{"traceEvents": [' + b" " * (4 << 20)


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_a_bomb_is_refused_before_it_fills_the_disk(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_FREE_OF_RATIO", 1 << 20)
    path = tmp_path / "t"
    if kind == "gzip":
        path.write_bytes(gzip.compress(bomb()))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.json", bomb())
    assert "times its size" in refusal(path)


def test_more_text_than_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_BYTES", 1 << 20)
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(bomb()))
    assert "holds more than" in refusal(path)


def test_a_sparse_file_of_5_gb_is_refused_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    with path.open("wb") as file:
        file.truncate(5 << 30)
    assert "begins with zeros" in refusal(path)
    with path.open("r+b") as file:
        file.write(b'{"traceEvents": [')
    assert "holds more than 4 GiB" in refusal(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)
    assert "is no file" in refusal(tmp_path / "missing.json")


def test_a_zip_file_of_several_traces_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", "{}")
        archive.writestr("b.json", "{}")
    assert "holds 2 traces" in refusal(path)
