"""What a trace says of its GPUs, by hand and of recorded ones; and `trace open`, which prints it."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.profiling.traces.averages import operator_averages
from roofscope.profiling.traces.columns import Category
from roofscope.profiling.traces.reading import open_trace, read_trace_bytes
from roofscope.profiling.traces.summary import totals_of
from roofscope.profiling.traces.totals import TraceTotals
from roofscope.tests.public_files import DATA
from roofscope.tests.trace_events import Event, read_events, slice_

DEVICE = {"pid": 0, "tid": 7, "ph": "X"}


def work(name: str, begin_us: float, length_us: float, **more: Any) -> dict[str, Any]:
    """A kernel, or where ``cat`` says so something else, on a stream of GPU 0."""
    arguments = {"device": 0, "stream": more.pop("stream", 7), **more.pop("args", {})}
    return (
        DEVICE | {"name": name, "cat": "kernel", "ts": begin_us, "dur": length_us, "args": arguments} | more
    )


def text_of(*events: dict[str, Any]) -> bytes:
    return json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()


def totals(*events: dict[str, Any]) -> TraceTotals:
    return totals_of(read_trace_bytes(gzip.compress(text_of(*events)), "made"))


def test_kernels_by_name_and_the_time_of_the_gpu() -> None:
    found = totals(
        work("b", 10, 4),
        work("a", 0, 2),
        work("a", 4, 6),
        work("Memcpy HtoD", 12, 6, cat="gpu_memcpy", tid=8, stream=8),
        work("range", 0, 100, cat="gpu_user_annotation"),
        {"ph": "X", "name": "aten::add", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 0, "dur": 50, "args": {}},
    )
    rows = [(row.name, row.count, row.total_s, row.mean_s, row.min_s, row.max_s) for row in found.kernels]
    us = 1e-6
    assert [row[:2] for row in rows] == [("a", 2), ("Memcpy HtoD", 1), ("b", 1)]
    assert rows[0][2:] == pytest.approx((8 * us, 4 * us, 2 * us, 6 * us))
    assert sum(row.share for row in found.kernels) == pytest.approx(1)
    [gpu] = found.gpus
    assert (gpu.span_s, gpu.compute_s, gpu.copy_s, gpu.both_s) == pytest.approx(
        (18 * us, 12 * us, 6 * us, 2 * us)
    )
    assert (gpu.idle_s, gpu.longest_gap_s) == pytest.approx((2 * us, 2 * us))
    assert gpu.gap_count == 1


def test_launches_wait_from_the_call_to_the_work() -> None:
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
    events: list[dict[str, Any]] = []
    for number, wait in enumerate((5.0, 6.0, 30.0)):
        begin = 100.0 * number
        events += [
            launch | {"ts": begin, "dur": 3.0, "args": {"correlation": number + 1}},
            work("k", begin + wait, 2.0, args={"correlation": number + 1}),
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": number + 1, "pid": 1, "tid": 1, "ts": begin},
            {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": number + 1, "bp": "e"}
            | {"pid": 0, "tid": 7, "ts": begin + wait},
        ]
    launches = totals(*events).launches
    assert launches is not None
    assert launches.count == 3
    assert launches.median_s == pytest.approx(6e-6)


def test_a_trace_without_a_gpu_has_no_kernels() -> None:
    found = totals({"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 0, "dur": 5})
    assert (found.kernels, found.gpus, found.launches) == ((), (), None)


def test_trace_open_prints_them_and_as_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text_of(work("a", 0, 2), work("b", 4, 6)))
    ended = CliRunner().invoke(cli, ["trace", "open", str(path)])
    assert ended.exit_code == 0, ended.output
    assert "80 % compute, 20 % idle in 1 gap, the longest 2.000 µs" in ended.output.replace("\xa0", " ")
    ended = CliRunner().invoke(cli, ["trace", "open", str(path), "--json"])
    document = json.loads(ended.stdout)
    assert document["document"] == "trace-file"
    assert [row["name"] for row in document["kernels"]] == ["b", "a"]


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n", b"{}", b'{"traceEvents": []}'])
def test_what_is_no_trace_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    ended = CliRunner().invoke(cli, ["trace", "open", str(path)])
    assert ended.exit_code == 2
    assert len(ended.stderr.strip().splitlines()) == 1


def test_words_that_name_no_subcommand_record_as_before() -> None:
    for words in (["trace", "nothing", "a/b"], ["trace", "record", "nothing", "a/b"]):
        ended = CliRunner().invoke(cli, words)
        assert ended.exit_code == 2
        assert "There is no file nothing." in ended.stderr


@pytest.mark.parametrize(("name", "kernels", "work"), [("eager", 135, 168), ("compiled", 153, 174)])
def test_recorded_traces_of_a_transformer_block(name: str, kernels: int, work: int) -> None:
    """Counted in the files: kernels, and with copies and fills what calls launched."""
    trace = open_trace(DATA / "traces" / f"block-{name}.json.gz")
    assert trace.health.is_sound
    assert int((trace.slices.category == Category.KERNEL).sum()) == kernels
    found = totals_of(trace)
    assert sum(row.count for row in found.kernels) == work
    assert found.launches is not None
    assert found.launches.count == work
    assert sum(row.share for row in found.kernels) == pytest.approx(1)
    [gpu] = found.gpus
    assert gpu.busy_s == pytest.approx(sum(row.total_s for row in found.kernels), rel=1e-9)  # of one stream
    assert [device.name for device in trace.devices] == ["NVIDIA H200"]


def test_operators_have_their_own_and_whole_times_on_host_and_gpu() -> None:
    """A launch is not its operator's own time, and a kernel belongs to all operators round its launch."""
    ids = {"External id": 7}
    said = {"correlation": 3, **ids}
    trace = read_events(
        slice_("step", 0, 100, cat="user_annotation"),
        slice_("aten::linear", 10, 50),
        slice_("aten::addmm", 20, 30, args=ids),
        slice_("cudaLaunchKernel", 25, 10, cat="cuda_runtime", args=said),
        slice_("k", 70, 8, cat="kernel", pid=0, tid=7, args={"device": 0, "stream": 7, **said}),
        slice_("aten::to", 80, 4),
        slice_("aten::to", 81, 2),
    )
    rows = {row.name: row for row in operator_averages(trace)}

    def row(name: str, *us: float) -> tuple[Any, ...]:
        return (name, 1, *(pytest.approx(each * 1e-6) for each in us))

    assert msgspec.structs.astuple(rows["aten::addmm"]) == row("aten::addmm", 20, 30, 8, 8)
    assert msgspec.structs.astuple(rows["aten::linear"]) == row("aten::linear", 20, 50, 0, 8)
    assert msgspec.structs.astuple(rows["step"]) == row("step", 46, 100, 0, 8)
    assert msgspec.structs.astuple(rows["aten::to"]) == row("aten::to", 4, 4, 0, 0)


def test_what_the_profiler_took_is_no_own_time_of_an_operator() -> None:
    """As torch has it: on the main thread, where it is inside an operator; else no operator loses time."""

    def overhead(begin: float, long: float) -> Event:
        return slice_("Activity Buffer Request", begin, long, cat="overhead", pid=-1, tid=0)

    trace = read_events(
        slice_("aten::layer_norm", 0, 100, pid=5, tid=5),
        slice_("aten::native_layer_norm", 10, 80, pid=5, tid=5),
        overhead(20, 40),
        slice_("aten::mul", 120, 30, pid=5, tid=5),
        slice_("aten::div", 110, 60, pid=5, tid=6),
        overhead(125, 35),
    )
    rows = {row.name: row for row in operator_averages(trace)}
    own = {name: round(row.host_self_s * 1e6) for name, row in rows.items()}
    assert own == {
        "aten::layer_norm": 20,
        "aten::native_layer_norm": 40,
        "aten::mul": 30,
        "aten::div": 60,
        "Activity Buffer Request": 75,
    }
    assert rows["aten::layer_norm"].host_total_s == pytest.approx(100e-6)
    assert rows["Activity Buffer Request"].count == 2


def torchs_own_us(events: list[Event]) -> dict[str, float]:
    """Own times by name, by the stack of torch.autograd.profiler_util._populate_cpu_children."""
    kinds = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "overhead")
    threads: defaultdict[int, list[tuple[float, float, str]]] = defaultdict(list)
    for event in events:
        if event.get("cat") in kinds:
            begin, end = event["ts"], event["ts"] + event["dur"]
            main = 502  # in both files the thread that stopped the profiler
            threads[main if event["cat"] == "overhead" else event["tid"]].append((begin, -end, event["name"]))
    own: defaultdict[str, float] = defaultdict(float)
    for calls in threads.values():
        open_: list[tuple[float, float, str]] = []
        for begin, minus_end, name in sorted(calls):
            while open_ and (begin >= open_[-1][1] or -minus_end > open_[-1][1]):
                open_.pop()
            if open_:
                own[open_[-1][2]] -= -minus_end - begin
            own[name] += -minus_end - begin
            open_.append((begin, -minus_end, name))
    return own


@pytest.mark.parametrize("name", ["eager", "compiled"])
def test_own_times_of_recorded_operators_are_torchs(name: str) -> None:
    path = DATA / "traces" / f"block-{name}.json.gz"
    expected = torchs_own_us(json.loads(gzip.decompress(path.read_bytes()))["traceEvents"])
    trace = open_trace(path)
    rows = {row.name: row for row in operator_averages(trace)}
    operators = [each for each in rows if each.startswith("aten::") or each == "Activity Buffer Request"]
    assert len(operators) > 20
    for each in operators:
        assert rows[each].host_self_s == pytest.approx(expected[each] * 1e-6, abs=2e-9 * rows[each].count)
    assert [lane.thread for lane in trace.lanes if lane.is_main] == ["thread 502 (python3)"]
