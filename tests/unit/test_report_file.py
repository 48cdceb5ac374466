"""Counters from a report of Nsight Compute; NVIDIA's module is played by one that reads JSON."""

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from roofscope.app.cli.commands import cli
from roofscope.app.cli.errors import DONE, USAGE
from roofscope.app.presentation.counters import counted_sentence, instrument_sentence
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.traffic import moved
from roofscope.profiling.devices import nsight_compute
from roofscope.profiling.devices.nsight_compute import report_module_folders
from roofscope.profiling.results.counters import Level
from roofscope.profiling.results.outcome import Measured, ProfiledKernel
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.supervision import report_file
from roofscope.profiling.supervision.report_file import CannotRead, counters_from
from roofscope.tests.sessions import DEVICE, make_session, write_session

# The part of the API that the documentation of ncu_report names and that is read.
_MODULE = """
import json, os, pathlib

class IMetric:
    def __init__(self, value, unit): self._value, self._unit = value, unit
    def has_value(self): return self._value is not None
    def as_double(self): return float(self._value)
    def as_string(self): return str(self._value)
    def unit(self): return self._unit

class IAction:
    NameBase_DEMANGLED, NameBase_FUNCTION, NameBase_MANGLED = range(3)
    WorkloadType_KERNEL, WorkloadType_RANGE = range(2)
    def __init__(self, said): self._said = said
    def name(self, base=1): return self._said["name"] if base == 0 else "other"
    def workload_type(self): return self._said.get("type", 0)
    def metric_names(self): return tuple(self._said["metrics"])
    def metric_by_name(self, name):
        found = self._said["metrics"].get(name)
        return IMetric(*found) if found else None

class IRange:
    def __init__(self, actions): self._actions = [IAction(each) for each in actions]
    def num_actions(self): return len(self._actions)
    def action_by_idx(self, at): return self._actions[at]

class IContext:
    def __init__(self, ranges): self._ranges = [IRange(each) for each in ranges]
    def num_ranges(self): return len(self._ranges)
    def range_by_idx(self, at): return self._ranges[at]

def load_report(file_name):
    text = pathlib.Path(file_name).read_text()
    if text == "end": os.kill(os.getpid(), 11)
    if text == "raise": raise RuntimeError("not a\\nreport")
    return IContext(json.loads(text or "[]"))
"""
READ, WRITE, L2 = "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_srcunit_tex.sum"
L1 = "l1tex__t_bytes.sum"
Metrics = Mapping[str, tuple[Any, str]]


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The played module comes before one that may be installed."""
    folder = tmp_path / "played"
    folder.mkdir()
    (folder / "ncu_report.py").write_text(_MODULE)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def action(name: str, read: float, write: float, **more: tuple[Any, str]) -> dict[str, Any]:
    metrics: Metrics = {
        "device__attribute_display_name": (DEVICE.name, ""),
        "gpu__time_duration.sum": (20_000, "ns"),
        READ: (read, "Mbyte"),
        WRITE: (write, "byte"),
        L2: (1000, "sector"),
        "sm__warps_active.avg.pct_of_peak_sustained_active": (50, "%"),
        "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": (9.5, "inst"),
        "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": (1, "inst"),
        **more,
    }
    return {"name": name, "metrics": metrics}


def write(folder: Path, *ranges: Sequence[dict[str, Any]]) -> Path:
    path = folder / "mine.ncu-rep"
    path.write_text(json.dumps(ranges))
    return path


def point_with(*kernels: str) -> tuple[Session, Point]:
    """Whose call launches these kernels, as CUPTI names them."""
    session = make_session()
    at, point = next((at, point) for at, point in enumerate(session.points) if point.measured)
    assert isinstance(point.outcome, Measured)
    names = {name: float(kernels.count(name)) for name in kernels}
    profiled = tuple(ProfiledKernel(name, calls, 1e-5) for name, calls in names.items())
    point = replace(point, outcome=replace(point.outcome, kernels=profiled))
    session.points = (*session.points[:at], point, *session.points[at + 1 :])
    return session, point


ADD = "void at::native::add<4, float>(int, float*)"  # as CUPTI has it
FILL = "(anonymous namespace)::fill(float*)"
THEIRS = "void at::native::<unnamed>::add<(int)4, float>(T1 *, int)"  # as ncu has them
THEIR_FILL = "fill(float *)"


def test_calls_of_a_report_are_those_that_launch_all_kernels_of_the_point(tmp_path: Path) -> None:
    session, point = point_with(ADD, ADD, FILL, "Memset (Device)")
    call = [action(THEIR_FILL, 1, 0), action(THEIRS, 10, 4e6), action(THEIRS, 30, 8e6)]
    path = write(tmp_path, [action("other()", 999, 999), *call], call)
    found = counters_from(path, point, session)
    assert (found.calls, found.kernel_count, found.counted_by) == (2, 3, "Nsight Compute, mine.ncu-rep")
    assert (found.dram_read_bytes, found.dram_write_bytes) == (41e6, 12e6)
    assert (found.l2_bytes, found.l1_bytes) == (3 * 32_000, None)
    assert (found.duration_s, found.occupancy) == (pytest.approx(60e-6), pytest.approx(0.5))
    assert [(stall.reason, stall.cycles) for stall in found.stalls] == [("long_scoreboard", 9.5)]
    assert found.problem.startswith("The report has no L1 and no FLOPs; ")
    assert "the run that wrote the report decided" in instrument_sentence(found)


def test_what_stands_behind_the_separator_is_the_call(tmp_path: Path) -> None:
    session, point = point_with(ADD)
    more = {L1: (5, "Kbyte"), "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": (50, "inst")}
    spin = action("spin_kernel(long)", 0, 0)
    found = counters_from(write(tmp_path, [spin, action(THEIRS, 10, 4e6, **more)]), point, session)
    assert (found.calls, found.l1_bytes, found.flops, found.problem) == (1, 5000, {"FP32": 100}, "")
    twice = write(tmp_path, [spin, action(THEIRS, 1, 1), spin, action(THEIRS, 1, 1)])
    with pytest.raises(CannotRead, match="is of 2 points"):
        counters_from(twice, point, session)


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        ([action("other()", 1, 1)], "holds no kernel of the point, which runs add, fill"),
        ([action(THEIRS, 1, 1)], r"no whole calls of the point \(1 of add, 0 of fill\)"),
        ([action(THEIRS, 1, 1)] * 3 + [action(THEIR_FILL, 1, 1)] * 2, "no whole calls"),
        ([{**action(THEIRS, 1, 1), "type": 1}], "It holds ranges or graphs alone"),
        ([], "holds no kernel that Nsight Compute profiled"),
        ([action("k", 1, 1, device__attribute_display_name=("NVIDIA L4", ""))], "is of NVIDIA L4, the point"),
        (
            [{"name": each, "metrics": {"gpu__time_duration.sum": (1, "ns")}} for each in (THEIRS, FILL)],
            "no bytes of any memory",
        ),
        (
            [action(each, 1, 1, **{READ: (None, ""), L2: ("nan", "")}) for each in (THEIRS, FILL)],
            "no bytes of any memory",
        ),
    ],
)
def test_a_report_that_does_not_fit_is_refused_in_a_sentence(
    actions: list[dict[str, Any]], said: str, tmp_path: Path
) -> None:
    session, point = point_with(ADD, FILL)
    with pytest.raises(CannotRead, match=said) as refused:
        counters_from(write(tmp_path, actions), point, session)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("end", "ncu_report ended while it read mine.ncu-rep"),
        ("raise", r"cannot be read \(not a report\)"),
        ("", "holds no kernel"),
    ],
)
def test_what_the_module_does_costs_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    session, point = point_with(ADD)
    (tmp_path / "mine.ncu-rep").write_text(text)
    with pytest.raises(CannotRead, match=said):
        counters_from(tmp_path / "mine.ncu-rep", point, session)
    with pytest.raises(CannotRead, match="is no file"):
        counters_from(tmp_path / "absent.ncu-rep", point, session)


def test_without_the_module_the_sentence_says_what_to_install(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    if importlib.util.find_spec("ncu_report"):
        pytest.skip("ncu_report is installed here")
    session, point = point_with(ADD)
    path = write(tmp_path, [action(THEIRS, 10, 4e6)])
    monkeypatch.setattr(report_file, "report_module_folders", lambda: ())
    with pytest.raises(CannotRead, match="pip install ncu-report"):
        counters_from(path, point, session)
    monkeypatch.setattr(report_file, "report_module_folders", lambda: (module,))
    assert counters_from(path, point, session).dram_read_bytes == 10e6


@pytest.mark.parametrize("way", ["beside", "link", "script"])
def test_the_module_is_found_beside_ncu(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "cuda" / "nsight-compute-2025.3.1"
    python, bin_ = home / "extras" / "python", tmp_path / "cuda" / "bin"
    python.mkdir(parents=True)
    bin_.mkdir()
    (home / "ncu").touch(0o755)
    if way == "link":
        (bin_ / "ncu").symlink_to(home / "ncu")
    else:
        (bin_ / "ncu").touch(0o755)
    monkeypatch.setenv("PATH", str(home if way == "beside" else bin_))
    monkeypatch.setattr(nsight_compute, "_PLACES", ())
    assert report_module_folders() == (python,)


def test_a_report_is_kept_and_printed_and_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_session(make_session(), tmp_path / "a.roofscope")
    point = next(point for point in load(path).points if point.measured)
    names = [kernel.name for kernel in point.measured.kernels] if point.measured else []
    report = write(tmp_path, [action(name, 5000, 1e6) for name in names])
    words = ["counters", str(path), str(point.number)]
    code, out, _ = ended(capsys, *words, "--from", str(report))
    assert code == DONE
    assert "Nsight Compute, mine.ncu-rep, 1 call" in " ".join(out.split())
    session = load(path)
    found = moved(point, session)
    assert found is not None
    assert found.counters.report == "mine.ncu-rep"
    assert found.counters.bytes_at(Level.DRAM) == pytest.approx((5e9 + 1e6) * len(names))
    assert "would spare" not in counted_sentence(found)  # flushed caches may be why
    case = Cases(session).of(next(one for one in session.points if one.number == point.number))
    assert case is not None
    assert case.counters is None
    code, _, said = ended(capsys, *words, str(point.number + 1), "--from", str(report))
    assert (code, said.count("\n")) == (USAGE, 1)
    code, _, said = ended(capsys, *words, "--from", str(tmp_path / "absent.ncu-rep"))
    assert (code, said.count("\n")) == (USAGE, 1)


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        cli(list(words))
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err
