"""Profiler traces: recorded ones with known answers, made ones, and all ways to write the same."""

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from roofscope.profiling.traces.columns import NONE, Category, DeviceSheet, FlowKind
from roofscope.profiling.traces.reading import open_trace
from roofscope.profiling.traces.saving import repaired_json
from roofscope.tests.trace_events import (
    OPERATOR,
    Event,
    arrows,
    counted,
    flow,
    kernel,
    launch,
    names_of,
    read,
    read_events,
    recorded,
    slice_,
    text_of,
)
from roofscope.tests.traces import write_trace

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
    "field",
    [
        {"ts": None},
        {"ts": "soon"},
        {"ts": False},
        {"ts": [1]},
        {"ts": 1e300},
        {"dur": -3},
        {"dur": None},
        {"dur": 1e16},
    ],
)
def test_a_slice_without_a_place_in_time_is_counted(field: Event) -> None:
    trace = read_events(slice_("good", 1, 2), {**OPERATOR, **field})
    assert names_of(trace) == ["good"]
    assert trace.health.dropped == 1


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
