"""Counters of a point: what ncu prints is read, stored beside the point, and said."""

import csv
import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from roofscope.app.cli.commands import cli
from roofscope.app.cli.errors import DONE, USAGE
from roofscope.app.presentation.counters import counted_section, counted_sentence, level_rows
from roofscope.app.presentation.roofline.geometry import Box, Font, View
from roofscope.app.presentation.roofline.level_marks import LevelMark, PlacedLevels, place_levels
from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.ranges import Range
from roofscope.app.presentation.roofline.scene import ChartOptions, build_scene
from roofscope.app.presentation.roofline.svg import roofline_svg
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.advice.extra_bytes import extra_bytes
from roofscope.profiling.analysis.traffic import moved
from roofscope.profiling.devices import nsight_compute
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.results.counters import Counters, KernelCounters, Level, Stall
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.supervision import counting
from roofscope.profiling.supervision.counting import CannotCount, CountRequest, count
from roofscope.profiling.supervision.ncu_table import DETAIL, TRAFFIC, counters_of, read_table
from roofscope.tests.sessions import DEVICE, SPEC_OF, make_session, write_session

SPIN = "spin_kernel(long)"
ADD = "void add<float, (int)4>(const T1 *, const T1 *, T1 *, long)"
_NAMES = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size")
_STALL = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
_SELECTED = "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio"
_UNITS = {"gpu__time_duration.sum": "ns", "sm__warps_active.avg.pct_of_peak_sustained_active": "%"}
_DETAIL = {
    "gpu__time_duration.sum": "61,440",
    "dram__bytes_read.sum": "134,217,728",
    "dram__bytes_write.sum": "40,000,000",
    "lts__t_sectors_srcunit_tex.sum": "6,291,456",
    "lts__t_bytes.sum": "300,000,000",
    "l1tex__t_bytes.sum": "201,326,592",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "87.50",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "16,777,216",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "100",
    "sm__inst_executed_pipe_tensor_op_gmma.sum": "4,096",
    "sm__inst_executed_pipe_tensor.sum": "4,096",
    "sm__inst_executed_pipe_tensor_op_dmma.sum": "n/a",
    _STALL: "12.25",
    _SELECTED: "1.00",
}


def table(kernels: Sequence[tuple[str, Mapping[str, str]]], metrics: Sequence[str]) -> str:
    """As ncu prints its raw page: its own lines, names, units, kernels."""
    text = io.StringIO()
    rows = csv.writer(text, quoting=csv.QUOTE_ALL)
    rows.writerow([*_NAMES, *metrics])
    units = {name: "byte" if "bytes" in name else "" for name in metrics} | _UNITS
    rows.writerow([*("",) * len(_NAMES), *(units[name] for name in metrics)])
    for number, (name, figures) in enumerate(kernels):
        process = ("4711", "python3.12", "127.0.0.1", name, "1", "7", "(256, 1, 1)")
        rows.writerow([str(number), *process, *(figures.get(metric, "n/a") for metric in metrics)])
    lines = ['==PROF== Profiling "add": 0%....50%....100% - 1 pass', "==PROF== Disconnected", text.getvalue()]
    return "\n".join(lines)


def traffic(read: int, write: int) -> dict[str, str]:
    return {
        "gpu__time_duration.sum": "60,000",
        "dram__bytes_read.sum": f"{read:,}",
        "dram__bytes_write.sum": f"{write:,}",
    }


_CALLS = [(ADD, traffic(134_000_000, 67_000_000)), (ADD, traffic(135_000_000, 68_000_000))]
MOVED = table([(SPIN, {}), *_CALLS], TRAFFIC)
KERNELS = table([(SPIN, {}), (ADD, _DETAIL)], [*DETAIL, _STALL, _SELECTED])


def test_a_table_of_ncu_is_read_in_base_units() -> None:
    [of_traffic], [of_detail] = read_table(MOVED).groups(), read_table(KERNELS).groups()
    found = counters_of("Nsight Compute 2025.3.1", of_traffic, 2, of_detail)
    assert (found.dram_read_bytes, found.dram_write_bytes) == (134_500_000, 67_500_000)
    assert found.duration_s == pytest.approx(61.44e-6)
    assert (found.l2_bytes, found.l1_bytes) == (6_291_456 * 32, 201_326_592)
    [kernel] = found.kernels
    assert kernel.name == ADD
    assert (kernel.dram_read_bytes, kernel.flushed_dram_bytes) == (134_500_000, 174_217_728)
    assert kernel.l2_all_bytes == 300_000_000
    assert found.flops == {"FP32": 16_777_216 + 200}
    assert found.tensor_instructions == {"GMMA": 4096, "all": 4096}
    assert found.occupancy == pytest.approx(0.875)
    assert found.stalls == (Stall("long_scoreboard", 12.25),)


def test_units_with_a_prefix_are_taken_as_they_are() -> None:
    text = MOVED.replace('"byte"', '"Mbyte"').replace('"ns"', '"us"')
    [found] = read_table(text).groups()
    assert found.figure(found.rows[0], "dram__bytes_read.sum") == pytest.approx(134e12)
    assert found.figure(found.rows[0], "gpu__time_duration.sum") == pytest.approx(0.06)


def test_kernels_that_differ_from_call_to_call_have_no_bytes_of_their_own() -> None:
    text = table(
        [(SPIN, {}), (ADD, traffic(10, 20)), ("other", traffic(30, 40)), (ADD, traffic(50, 60))], TRAFFIC
    )
    [of_traffic], [of_detail] = read_table(text).groups(), read_table(KERNELS).groups()
    found = counters_of("", of_traffic, 3, of_detail)
    assert (found.dram_read_bytes, found.dram_write_bytes) == (30, 40)
    assert found.kernels[0].dram_read_bytes is None


def test_what_is_no_table_holds_no_kernel() -> None:
    assert read_table("==WARNING== No kernels were profiled.\n").groups() == []
    assert read_table("").rows == ()


_PERMISSION = (
    "==PROF== Connected to process 1 (/usr/bin/python3.12)\n==ERROR== ERR_NVGPUCTRPERM - The user does not "
    "have permission to access NVIDIA GPU Performance Counters on the target device 0."
)


def test_why_ncu_refused_says_what_to_do() -> None:
    said = nsight_compute.why_refused(1, _PERMISSION.splitlines())
    assert "NVreg_RestrictProfilingToAdminUsers=0" in said
    assert "CAP_SYS_ADMIN" in said
    lines = ["==PROF== Connected", "==ERROR== The application returned an error code (11)."]
    assert nsight_compute.why_refused(11, lines) == (
        "ncu ended with code 11: The application returned an error code (11)."
    )
    assert nsight_compute.unknown_metric(
        r"==ERROR== Failed to find metric regex:^sm__inst_executed_pipe_tensor_op_gmma\.(sum|avg)$"
    ) == ("sm__inst_executed_pipe_tensor_op_gmma")


# Plays a program that prints what was recorded; the question is the last word of its command line.
_NCU = """#!{python}
import json, pathlib, sys
words, here = sys.argv[1:], pathlib.Path(__file__).parent
if "--version" in words:
    print("Version 2025.3.1.0 (build 36398880)")
elif "--query-metrics" in words:
    print("Device NVIDIA H200 (GH100)\\ndram__bytes_read  Counter  byte\\ngpu__time_duration  Counter")
else:
    with (here / "commands").open("a") as file:
        file.write(json.dumps(words) + "\\n")
    question = json.loads(pathlib.Path(words[-1]).read_text())
    calls = 2 if question["rotates"] else 1
    answers = [dict(calls=calls)] * len(question["subjects"])
    pathlib.Path(question["answer"]).write_text(json.dumps(answers))
    name = "moved" if question["rotates"] else "kernels"
    text = (here / name).read_text()
    if "FAULT" in text and len(answers) > 1:
        sys.exit("a fault")
    print(text)
"""


@pytest.fixture
def ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an ncu that plays ``moved`` and ``kernels``, and notes its commands."""
    program = tmp_path / "ncu"
    program.write_text(_NCU.format(python=sys.executable))
    program.chmod(0o755)
    (tmp_path / "moved").write_text(MOVED)
    (tmp_path / "kernels").write_text(KERNELS)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def request_of(point: Point, folder: Path) -> CountRequest:
    kernel = Kernel(SPEC_OF[point.implementation.kernel], folder, (point.implementation,))
    return CountRequest(kernel, point.implementation, point.job.workload, point.job.work.byte_count)


def test_a_point_is_counted_in_two_passes(ncu: Path) -> None:
    point = make_session().points[0]
    [found] = count([request_of(point, ncu)], DEVICE, log=ncu / "log")
    assert isinstance(found, Counters)
    assert (found.instrument, found.calls, found.dram_bytes) == ("Nsight Compute 2025.3.1.0", 2, 202_000_000)
    rotated, flushed = map(json.loads, (ncu / "commands").read_text().splitlines())
    assert rotated[rotated.index("--cache-control") + 1] == "none"
    assert flushed[flushed.index("--cache-control") + 1] == "all"
    assert rotated[rotated.index("--metrics") + 1] == ",".join(TRAFFIC)
    # Only what --query-metrics named is asked for: an unknown metric would end ncu.
    assert set(flushed[flushed.index("--metrics") + 1].split(",")) == {
        "gpu__time_duration.sum",
        "dram__bytes_read.sum",
    }
    assert "Disconnected" in (ncu / "log").read_text()


def test_a_call_that_ends_the_process_costs_no_other_its_counters(ncu: Path) -> None:
    (ncu / "moved").write_text(f"{MOVED}\nFAULT")
    first, second = make_session().points[:2]
    found = count([request_of(first, ncu), request_of(second, ncu)], DEVICE)
    assert [isinstance(one, Counters) for one in found] == [True, True]


def test_without_permission_nothing_is_tried_twice(ncu: Path) -> None:
    (ncu / "moved").write_text(_PERMISSION)
    points = make_session().points[:2]
    with pytest.raises(CannotCount, match="NVreg_RestrictProfilingToAdminUsers=0"):
        count([request_of(point, ncu) for point in points], DEVICE)
    assert len((ncu / "commands").read_text().splitlines()) == 1


def test_without_ncu_the_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(counting, "find_ncu", lambda: None)
    with pytest.raises(CannotCount, match="install Nsight Compute"):
        count([request_of(make_session().points[0], tmp_path)], DEVICE)


def counters(ratio: float, point: Point) -> Counters:
    work = point.job.work
    return Counters(
        instrument="Nsight Compute 2025.3.1",
        calls=4,
        kernel_count=1,
        duration_s=1e-5,
        dram_read_bytes=ratio * work.byte_count - work.write_bytes,
        dram_write_bytes=float(work.write_bytes),
        l2_bytes=2.0 * work.byte_count,
        l1_bytes=3.0 * work.byte_count,
        kernels=(KernelCounters("k", 1e-5, occupancy=0.5, stalls=(Stall("long_scoreboard", 9.0),)),),
    )


def test_counters_follow_their_point_in_the_session(tmp_path: Path) -> None:
    path = write_session(make_session(), tmp_path / "a.roofscope")
    session = load(path)
    point = next(point for point in session.points if point.measured)
    with SessionStore.append(path, session) as store:
        store.add_counters(point.number, counters(2.0, point))
        store.add_counters(point.number, counters(1.02, point))
    session = load(path)
    assert session.counters == {point.number: counters(1.02, point)}
    assert (session.problems, session.is_damaged) == ((), False)
    found = moved(point, session)
    assert found
    assert found.ratio == pytest.approx(1.02)
    assert counted_sentence(found).startswith("It moves 1.02× the bytes it must: ")
    assert [row.level for row in level_rows(found)] == ["compulsory", "DRAM", "L2", "L1"]
    dram, l2, _ = found.levels
    assert dram.intensity == pytest.approx(2 / 1.02 * (l2.intensity or 0))
    assert dram.ceiling
    assert dram.share == pytest.approx((dram.byte_per_s or 0) / dram.ceiling.value)
    names = [fact.name for fact in counted_section(point, session).facts]
    assert names == ["Moved", "DRAM", "L2", "L1", "Occupancy", "Warps wait for", "Kernels", "Counted by"]
    assert counted_section(session.points[-1], session).is_empty


@pytest.mark.parametrize(("ratio", "is_advised"), [(1.1, False), (2.0, True)])
def test_counted_bytes_are_the_proof_of_extra_ones(ratio: float, is_advised: bool) -> None:
    session = make_session()
    cases = [case for point in session.points if (case := Cases(session).of(point))]
    case = next(case for case in cases if case.under_memory and case.headroom_s)
    found = extra_bytes(msgspec.structs.replace(case, counters=counters(ratio, case.point)))
    assert (found is not None) == is_advised
    if found:
        assert found.counted_bytes == pytest.approx(2 * found.compulsory_bytes)


def test_the_chart_marks_each_memory_of_the_selected_point() -> None:
    session = make_session()
    point = next(point for point in session.points if point.measured and point.job.work.flop_count)
    session.counters = {point.number: counters(1.5, point)}
    chosen = all_points(session)
    scene = build_scene(session, chosen, ChartOptions(selected=point.number))
    assert scene.target
    assert [mark.name for mark in scene.levels] == ["DRAM", "L2", "L1"]
    assert scene.target.point.x - scene.levels[0].x == pytest.approx(math.log10(1.5))
    assert scene.levels[1].x - scene.levels[2].x == pytest.approx(math.log10(1.5))
    plain = roofline_svg(session)
    assert roofline_svg(session, options=ChartOptions(selected=point.number)).count(">L1<") == 1
    assert ">L1<" not in plain
    assert build_scene(session, chosen).levels == ()


def levels_at(
    marks: tuple[LevelMark, ...], pixels: tuple[tuple[float, float], ...] = (), taken: tuple[Box, ...] = ()
) -> PlacedLevels | None:
    """In a view of 100 pixels a unit across, beside a point at 300, 150."""
    view = View(Range(-2.0, 2.0), Range(0.0, 10.0), Box(0, 0, 400, 300))
    session = make_session()
    [point, *_] = build_scene(session, all_points(session)).points
    point = msgspec.structs.replace(point, x=1.0, y=5.0)
    font = Font(11.0, lambda text: 7.0 * len(text))
    return place_levels(marks, point, view, font, np.array(((300.0, 150.0), *pixels)), 9.0, taken)


def test_names_of_marks_that_are_near_stand_together() -> None:
    found = levels_at((LevelMark("DRAM", 0.9), LevelMark("L2", 0.85), LevelMark("L1", -1.0)))
    assert found
    assert [name.text for name in found.names] == ["L1", "L2, DRAM"]
    assert (found.start, found.end, found.y) == (100, 300, 150)
    assert levels_at((LevelMark("L1", -3.0),)) is None


def test_names_of_marks_keep_off_markers_and_texts() -> None:
    """Before the line where it is free, else above or below it."""
    marks = (LevelMark("DRAM", 0.0), LevelMark("L2", 0.02))
    free = levels_at(marks)
    assert free
    assert free.boxes[0].right < free.start
    met = levels_at(marks, pixels=((free.boxes[0].left, 150.0),))
    assert met
    assert not met.boxes[0].count_near(np.array(((free.boxes[0].left, 150.0),)), 4.5)
    covered = levels_at(marks, taken=(free.boxes[0],))
    assert covered
    assert not covered.boxes[0].meets(free.boxes[0])
    assert not free.leaders, "it stands beside its line"
    [(x, end)] = covered.leaders
    assert x == pytest.approx(covered.boxes[0].left + covered.boxes[0].width / 2)
    assert end in (covered.boxes[0].top, covered.boxes[0].top + covered.boxes[0].height)


def test_what_was_counted_is_printed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_session(make_session(), tmp_path / "a.roofscope")
    point = next(point for point in load(path).points if point.measured)
    with SessionStore.append(path) as store:
        store.add_counters(point.number, counters(6.0, point))
    words = ["counters", str(path), str(point.number), "--kept"]
    assert "6.00×" in printed(capsys, DONE, *words)
    [found] = json.loads(printed(capsys, DONE, *words, "--json"))["points"]
    assert found["ratio"] == pytest.approx(6.0)
    assert [level["level"] for level in found["levels"]] == [str(level) for level in Level]
    other = next(one.number for one in load(path).points if one.measured and one.number != point.number)
    assert not printed(capsys, USAGE, "counters", str(path), str(other), "--kept")


def printed(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        cli(list(words))
    assert int(ended.value.code or 0) == code
    return capsys.readouterr().out
