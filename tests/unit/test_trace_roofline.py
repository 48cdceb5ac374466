"""The roofline of recorded traces: matmuls by their sizes, roofs, what is unknown, and `trace roofline`."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from roofscope.app.cli.commands import cli
from roofscope.app.presentation.traces.ceilings import own_ceilings
from roofscope.app.presentation.traces.roofline_scene import traced_roofline
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.roofline import Bound, Roofline, Source
from roofscope.profiling.traces.columns import Category, DeviceSheet
from roofscope.profiling.traces.reading import open_trace
from roofscope.profiling.traces.roofline import TracePoint, TraceRoofline, product_of, trace_roofline
from roofscope.tests.public_files import DATA
from roofscope.tests.sessions import make_session
from roofscope.tests.trace_events import kernel, read_events, recorded, slice_

TRACES = DATA / "traces"
TOKENS, WIDTH = 8 * 1024, 1024


def of(name: str) -> TraceRoofline:
    return trace_roofline(open_trace(TRACES / f"{name}.json.gz"))


def called(*words: object) -> Any:
    return CliRunner().invoke(cli, ["trace", "roofline", *map(str, words)], env={"COLUMNS": "200"})


@pytest.mark.parametrize("name", ["block-eager", "block-compiled"])
def test_the_matmuls_of_a_block_are_those_of_its_sizes(name: str) -> None:
    """Forward qkv, out, up and down: 12 width^2 weights a token, 2 FLOPs each; twice as many backward."""
    products = [point for point in of(name).points if point.name in ("mm", "addmm")]
    flops = sum((point.flop_count or 0) * point.count for point in products)
    assert flops == 3 * 3 * 2 * TOKENS * 12 * WIDTH**2
    assert {point.pipe for point in products} == {Bound.BF16}


def test_attention_of_a_block_is_causal_and_backward_costs_five_products() -> None:
    points = {point.name: point for point in of("block-eager").points}
    forward, backward = points["_cudnn_attention_forward"], points["_cudnn_attention_backward"]
    pairs = 1024 * 1025 // 2
    assert forward.flop_count == 8 * 16 * pairs * 2 * 2 * 64
    assert (backward.flop_count or 0) * 2 == 5 * (forward.flop_count or 0)
    assert len(backward.kernels) == 4, "a fill and three kernels share the operator's work"


@pytest.mark.parametrize(("name", "known"), [("block-eager", 0.9165), ("block-compiled", 0.7901)])
def test_all_device_time_is_known_or_named_as_unknown(name: str, known: float) -> None:
    trace, found = open_trace(TRACES / f"{name}.json.gz"), of(name)
    at_work = trace.slices.category <= Category.MEMSET
    assert found.time_s == pytest.approx(int(trace.slices.duration_ns[at_work].sum()) * 1e-9)
    assert found.known_share == pytest.approx(known, abs=1e-4)
    assert all(each.why for each in found.unknown)
    assert "aten::_fused_adamw_" in {each.name for each in found.unknown}


def test_no_matmul_of_a_recorded_trace_is_above_its_nameplate() -> None:
    trace = open_trace(TRACES / "operators.json.gz")
    product = product_of(trace.devices[0])
    assert product is not None
    roofline = Roofline(product.ceilings)
    found = trace_roofline(trace)
    products = [point for point in found.points if point.flop_count and point.pipe is not Bound.FP32]
    shares = [point.fraction_of_roof(roofline) for point in products]
    assert len(products) > 20
    assert all(share is not None and 0 < share < 1 for share in shares)


def test_a_float_matmul_is_set_against_the_pipe_that_ran_it() -> None:
    """Recorded with TF32 allowed and without; no argument of the operator shows which."""
    points = [point for point in of("operators").points if point.name == "mm" and point.dtype == "fp32"]
    assert sorted(str(point.pipe) for point in points) == ["fp32", "tf32"]
    fast, slow = sorted(points, key=lambda point: point.call_s)
    assert (fast.pipe, slow.pipe) == (Bound.TF32, Bound.FP32)
    assert fast.flop_count == slow.flop_count == 2 * 1024 * 768 * 512


def test_a_copy_to_the_host_is_no_traffic_of_the_memory() -> None:
    assert [each.why for each in of("operators").unknown if each.name == "aten::copy_"] == [
        "it copies between host and device, which is no memory of the device"
    ]


def test_kernels_without_an_operator_are_unknown() -> None:
    found = trace_roofline(read_events(kernel("softmax_kernel", 10, 4, 1), slice_("aten::add", 0, 3)))
    assert found.points == ()
    [lost] = found.unknown
    assert (lost.name, lost.count, lost.why) == ("softmax", 1, "the trace names no operator that launched it")


def test_a_point_without_its_pipe_has_no_roof() -> None:
    point = TracePoint("mm", "", "fp32", 2, 2e-3, 10**9, 10**6, 10**5, ("k",), None)
    product = product_of(DeviceSheet(0, "NVIDIA H200", 132))
    assert product is not None
    assert point.roof(Roofline(product.ceilings)) is None
    assert point.flop_per_s == pytest.approx(1e12)
    assert point.byte_per_s == pytest.approx(1e9)


def test_a_device_of_another_size_is_another_product() -> None:
    assert product_of(DeviceSheet(0, "NVIDIA H200", 78)) is None
    assert product_of(DeviceSheet(0, "Somebody's GPU")) is None


def test_ceilings_of_a_session_or_of_the_data_sheet() -> None:
    path = TRACES / "block-eager.json.gz"
    sheet = json.loads(called(path, "--json").stdout)
    assert "data sheet of H200" in sheet["ceilings"]
    measured = json.loads(called(path, "--json", "--session", "h200").stdout)
    assert measured["ceilings"] == "Ceilings measured on NVIDIA H200, from h200.roofscope."
    [one], [other] = ([p for p in d["points"] if p["name"] == "gelu"] for d in (sheet, measured))
    assert Source.NAMEPLATE in one["roof"]
    assert Source.MEASURED_BURST in other["roof"]
    assert 0 < one["fraction_of_roof"] < other["fraction_of_roof"] < 1


def test_trace_roofline_prints_both_tables() -> None:
    ended = called(TRACES / "block-compiled.json.gz")
    assert ended.exit_code == 0, ended.output
    assert "the work of 79 % of the 4.952 ms" in ended.stdout
    assert "addmm 1024, 8192x4096, 4096x1024" in ended.stdout
    assert "triton_poi_fused_gelu_view_2" in ended.stdout


def test_without_a_known_device_there_are_no_ceilings(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    events = [slice_("aten::mm", 1, 9, args={"External id": 3}), kernel("k", 10, 4, 1)]
    path.write_text(json.dumps({"traceEvents": events}))
    document = json.loads(called(path, "--json").stdout)
    assert document["ceilings"].startswith("No ceilings")
    assert document["points"] == []
    ended = called(path, "--session", "nothing")
    assert ended.exit_code == 2
    assert "There is no file nothing." in ended.stderr


def test_the_chart_stands_where_the_table_says() -> None:
    trace = recorded("eager")
    drawn = traced_roofline(trace, own_ceilings(load(ASSETS / "sessions" / "h200.roofscope"), trace))
    assert drawn.said.startswith("The work of 92 % of the 5.666 ms")
    assert "Ceilings measured on NVIDIA H200" in drawn.said
    assert len(drawn.rows) == len(drawn.found.points)
    assert [row[0] for row in drawn.unknown] == [each.name for each in drawn.found.unknown]
    scene = drawn.scene()
    assert {point.number for point in (*scene.points, *scene.strip)} == set(range(len(drawn.rows)))
    assert not scene.ghosts, "each operator stands for itself"
    for point in scene.points:
        mine = drawn.found.points[point.number]
        assert (10**point.x, 10**point.y) == pytest.approx((mine.intensity, mine.flop_per_s))
    assert scene.has_ceilings


def test_without_a_session_of_its_gpu_a_trace_has_the_data_sheet() -> None:
    trace, other = recorded("eager"), make_session()
    other.ceilings = ()
    assert "data sheet of H200" in own_ceilings(other, trace).said
    of_nothing = replace(trace, devices=())
    assert own_ceilings(other, of_nothing).said.startswith("No ceilings: the data sheet of a device")
    assert traced_roofline(of_nothing, own_ceilings(other, of_nothing)).scene().points


def test_a_trace_without_a_gpu_gets_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cpu.json"
    path.write_text(json.dumps({"traceEvents": [slice_("aten::mm", 1, 9, args={"External id": 3})]}))
    ended = called(path)
    assert ended.exit_code == 2
    assert "cpu.json holds no work of a GPU" in ended.stderr
    assert not ended.stdout
    trace = open_trace(path)
    said = traced_roofline(trace, own_ceilings(make_session(), trace)).said
    assert said.startswith("The trace holds no work of a GPU")
