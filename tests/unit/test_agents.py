"""What the tools are asked with and answer, without a server and without a worker."""

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roofscope.app.agents import comparing, own_file
from roofscope.app.agents.answering import IN_TURN, session_answer
from roofscope.app.agents.comparing import compare
from roofscope.app.agents.control import Control
from roofscope.app.agents.looking import compared, session, what_is_here, why
from roofscope.app.agents.own_file import open_file, write_own
from roofscope.app.agents.requests import (
    MOST_SOURCE,
    AgentFault,
    CompareRequest,
    HereRequest,
    MeasureRequest,
    SessionRequest,
    WhyRequest,
    in_arguments,
    request_of,
    schema_of,
)
from roofscope.app.agents.tools import INSTRUCTIONS, TOOLS
from roofscope.app.agents.workbench import Workbench
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.one_file.form import Form, FormFault, form_text, read_form, split_call
from roofscope.profiling.planning.one_file.parts import files_of_form, read_parts
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.supervision.run_events import Awaited, Banner, Progressed
from roofscope.tests import own_forms

GELU = ASSETS / "sessions" / "h200-gelu.roofscope"
ADD = msgspec.structs.replace(own_forms.ADD, odd_sizes=())


@pytest.fixture
def here(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def recorded(here: Path) -> Workbench:
    """With a session that an H200 recorded."""
    shutil.copy(GELU, here / "a.roofscope")
    return Workbench(here / "a.roofscope", cpu_device())


def fault_of(call: Any, *words: Any) -> str:
    """One sentence."""
    with pytest.raises(AgentFault) as fault:
        call(*words)
    said = str(fault.value)
    assert said.endswith(".")
    assert "\n" not in said
    return said


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_teaches_what_it_takes(tool: Any) -> None:
    schema = schema_of(tool.asks)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert all(len(field["description"]) > 10 for field in schema["properties"].values())
    assert len(tool.description) > 100
    assert tool.name in INSTRUCTIONS or tool.name == "session"
    assert schema_of(tool.answers)["type"] == "object"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": 3}, "expected str, got int - at path."),
        ({"pth": "x"}, "unknown field pth."),
        ({"deadline_s": 0}, "at deadline_s."),
        ({"inputs": "x=3"}, "expected array, got str - at inputs."),
        ([1], "expected object, got array."),
        ("x", "expected object, got str."),
        ({"deadline_s": float("nan")}, "at deadline_s."),
    ],
)
def test_a_fault_of_the_arguments_is_one_sentence(arguments: object, said: str) -> None:
    assert said in fault_of(request_of, "measure_file", arguments, MeasureRequest)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({}, "Nothing says what to measure"),
        ({"path": "none.py"}, "There is no file none.py."),
        ({"path": "a\0b.py"}, "cannot be opened"),
        ({"path": "x" * 5000}, "cannot be opened"),
        ({"path": "\udcff.py"}, "There is no file"),
        ({"path": "/dev/null"}, "is no file"),
        ({"path": "."}, "is no file"),
        ({"path": "a.txt"}, "is no .py, .cu, .cuh, .cpp, .cc file"),
        ({"path": "a.py", "source": "x"}, "not both"),
        ({"source": "x", "name": "../a.py"}, "is no name for a kernel's file"),
        ({"source": "x", "name": "a.roofscope.py"}, "is no name for a kernel's file"),
        ({"source": "x", "name": ".py"}, "is no name for a kernel's file"),
        ({"source": "x", "name": "a.sh"}, "is no name for a kernel's file"),
        ({"source": "x\0"}, "a NUL character"),
        ({"source": "\ud800"}, "half a character"),
        ({"source": "#" * (MOST_SOURCE + 1)}, "more than"),
        ({"source": "def f(:"}, "Python cannot read kernel.py"),
        ({"source": "x = 1"}, "has no function that takes tensors"),
        ({"source": "def relu(x):\n    return x.relu()\n"}, "add reference, in torch or as FILE:NAME"),
        ({"source": "def f(x):\n    return x\n", "function": "g"}, "has no function 'g'"),
        ({"source": "def f(x):\n    return x\n", "reference": "x", "inputs": ("x=",)}, "was not measured"),
    ],
)
def test_a_file_that_cannot_be_measured_is_one_sentence(
    request_: dict[str, Any], said: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    Path("a.txt").write_text("x")
    found = fault_of(open_file, MeasureRequest(**request_), here / "files")
    assert said in found
    assert "--" not in found
    assert not list(here.rglob("*.roofscope.py"))


def test_a_source_replaces_what_lies_under_its_name_and_not_what_a_link_leads_to(here: Path) -> None:
    (here / "mine.py").write_text("mine")
    (here / "files").mkdir()
    (here / "files" / "a.py").symlink_to(here / "mine.py")
    before = os.umask(0)
    try:
        write_own(here / "files" / "a.py", b"x = 1")
    finally:
        os.umask(before)
    assert (here / "mine.py").read_text() == "mine"
    assert (here / "files" / "a.py").read_bytes() == b"x = 1"
    assert (here / "files" / "a.py").stat().st_mode & 0o777 == 0o600


def test_a_file_that_others_may_write_is_refused_and_no_tool_trusts_it(here: Path) -> None:
    (here / "add.py").write_text("def add(x, y):\n    return x + y\n")
    (here / "add.roofscope.py").write_text(form_text(ADD))
    request = MeasureRequest(path=str(here / "add.py"))
    assert open_file(request, here).form == here / "add.roofscope.py"
    (here / "add.py").chmod(0o666)
    assert "others may write to it; only its user can trust it, by `roofscope run" in fault_of(
        open_file, request, here
    )
    fresh = MeasureRequest(path=str(here / "add.py"), reference="x + y", inputs=("x=8", "y=8"))
    assert "no tool can" in fault_of(open_file, fresh, here)
    assert not any("trust" in schema_of(tool.asks)["properties"] for tool in TOOLS)


def test_a_reference_runs_only_after_trust(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def complete(*_: object) -> Form:
        raise AssertionError("the reference was run")

    monkeypatch.setattr(own_file, "complete", complete)
    (here / "add.py").write_text("def add(x, y):\n    return x + y\n")
    (here / "add.py").chmod(0o666)
    request = MeasureRequest(path=str(here / "add.py"), reference="x + y", inputs=("x=8", "y=8"))
    assert "no tool can" in fault_of(open_file, request, here)


class Stopped:
    def __init__(self) -> None:
        self.presses = 0

    def press_stop(self) -> None:
        self.presses += 1


def test_a_stop_before_the_worker_starts_is_heard_when_it_does() -> None:
    control, run = Control(), Stopped()
    control.stop()
    control.started(run)
    assert run.presses == 1
    assert control.why_stopped == "It was stopped by its client."


def test_a_deadline_stops_what_is_under_way_and_says_what_to_do() -> None:
    control, heard = Control(), threading.Event()

    class Run:
        def press_stop(self) -> None:
            heard.set()

    control.started(Run())
    with control.ended_after(0.001):
        assert heard.wait(60.0)
    assert "its deadline of" in control.why_stopped
    assert "deadline_s" in control.why_stopped


def test_what_is_under_way_is_one_line() -> None:
    control = Control()
    control.watch(Progressed(1, 3, "gelu\nn=8", None, "compiling", None), None)
    assert control.text == "1 of 3: gelu n=8, compiling"
    control.watch(Awaited(6.0, 14.0), None)
    assert control.text == "no answer for 6 s; ended in 14 s"
    control.watch(Banner("The GPU\nis shared."), None)
    control.watch(Banner("The GPU is shared."), None)
    assert control.notices == ["The GPU is shared."]


def test_what_the_engine_says_has_the_names_of_the_arguments() -> None:
    assert in_arguments("Run it again with --exact.") == "Run it again with exact."
    assert "--" not in in_arguments("add --grid 'cdiv(n, 256)' --block 256, or measure with --shared-gpu.")
    control = Control()
    control.notice("Or measure with --shared-gpu.")
    assert control.notices == ["Or measure with shared_gpu."]


def test_one_measurement_at_a_time(here: Path) -> None:
    bench = Workbench(here / "a.roofscope", cpu_device())
    with bench.working(Control()):
        said = fault_of(bench.measure, MeasureRequest(source="x"), Control())
    assert "Another measurement is under way" in said
    with bench.working(Control()):
        pass


def test_what_is_here_names_the_device_and_a_kernel_of_the_library(here: Path) -> None:
    bench = Workbench(here / "a.roofscope", cpu_device())
    answer = what_is_here(bench, HereRequest())
    assert answer.device == cpu_device()
    assert answer.point_count == 0
    assert {"gelu", "softmax", "matmul"} <= {kernel.name for kernel in answer.library}
    (gelu,) = what_is_here(bench, HereRequest(kernel="gelu")).library
    assert "triton_sigmoid" in gelu.implementations
    assert gelu.sizes["large"]["n"] > 0
    assert "has no kernel 'nope'" in fault_of(what_is_here, bench, HereRequest(kernel="nope"))


def test_why_has_the_four_sentences_of_a_point_and_three_of_a_failure(recorded: Workbench) -> None:
    known = load(GELU)
    timed = next(point for point in known.points if point.measured)
    answer = why(recorded, WhyRequest(point=timed.number))
    assert answer.why
    assert answer.why.number == timed.number
    assert answer.why.limit
    assert answer.why_not is None
    assert f"Point {timed.number}, {timed.implementation.key}" in answer.summary
    newest = why(recorded, WhyRequest())
    assert f"Point {known.points[-1].number}," in newest.summary
    assert "no point 99999; its points are" in fault_of(why, recorded, WhyRequest(point=99999))


def test_two_points_of_one_job_are_compared_in_turn(recorded: Workbench) -> None:
    known = load(GELU)
    first = next(point for point in known.points if point.measured)
    other = next(p for p in known.points if p.measured and p.job == first.job and p is not first)
    answer = compared(known, first.number, other.number)
    assert answer.is_in_turn
    assert answer.common_rounds > 0
    assert answer.ratio
    assert answer.ratio_low
    assert answer.ratio_high
    assert answer.ratio_low <= answer.ratio <= answer.ratio_high
    assert answer.change in answer.summary
    back = compared(known, other.number, first.number)
    assert back.ratio == pytest.approx(1 / answer.ratio, rel=1e-6)
    assert "cannot be compared with itself" in fault_of(compared, known, first.number, first.number)


def test_points_that_no_tool_measured_cannot_be_measured_in_turn(recorded: Workbench) -> None:
    request = CompareRequest(a=1, b=2, in_turn=True)
    assert "were not kept" in fault_of(compare, recorded, request, Control())
    assert "cannot be compared with itself" in fault_of(
        compare, recorded, CompareRequest(a=1, b=1, in_turn=True), Control()
    )


def test_the_session_has_the_best_of_each_workload_and_keeps_what_is_said(recorded: Workbench) -> None:
    known = load(GELU)
    request = SessionRequest(point=1, note="a note", tag="first", pin=True, limit=1000)
    answer = session(recorded, request)
    assert answer.point_count == len(known.points)
    line = answer.points[0]
    assert (line.point, line.note, line.tags, line.is_pinned) == (1, "a note", ("first",), True)
    assert load(recorded.path).marks[1].note == "a note"
    for best in answer.best:
        times = [one.median_s for one in answer.points if one.workload == best.workload and one.median_s]
        assert best.is_own
        assert best.median_s in times
    assert len(session(recorded, SessionRequest(limit=3)).points) == 3
    assert "give its number as point" in fault_of(session, recorded, SessionRequest(note="x"))
    long = SessionRequest(point=1, note="x" * 5000)
    assert "at most" in fault_of(session, recorded, long)
    assert "cannot be stored" in fault_of(session, recorded, SessionRequest(point=1, note="\ud800"))


def test_versions_in_turn_are_not_the_best_of_a_kernel_of_their_own(recorded: Workbench) -> None:
    known = load(GELU)
    renamed = tuple(
        msgspec.structs.replace(
            point, implementation=msgspec.structs.replace(point.implementation, kernel=f"{IN_TURN}1_2.py")
        )
        for point in known.points
    )
    known.points = renamed
    assert session_answer(known, "", 10).best == ()


def test_a_session_is_renamed_with_its_files(recorded: Workbench, here: Path) -> None:
    write_own(recorded.folder / "gelu.py", b"x")
    answer = session(recorded, SessionRequest(rename="gelu"))
    assert answer.session == str(here / "gelu.roofscope") == str(recorded.path)
    assert (here / "gelu.files" / "gelu.py").exists()
    for name in ("../x", "a/b", ".x", "x\ny", "x" * 300, "\0", "\ud800"):
        fault_of(session, recorded, SessionRequest(rename=name))
    (here / "taken.roofscope").write_text("x")
    assert "exists already" in fault_of(session, recorded, SessionRequest(rename="taken"))
    assert recorded.path == here / "gelu.roofscope"


def test_a_damaged_session_is_one_sentence(here: Path) -> None:
    (here / "a.roofscope").write_text("x")
    bench = Workbench(here / "a.roofscope", cpu_device())
    assert "not a Roofscope session" in fault_of(session, bench, SessionRequest())
    assert "call measure_file first" in fault_of(
        why, Workbench(here / "b.roofscope", cpu_device()), WhyRequest()
    )


def test_a_form_calls_functions_of_other_files_beside_it(here: Path) -> None:
    (here / "add.py").write_text("def add(x, y):\n    return x + y\n")
    (here / "add_2.py").write_text("import helper\n\n\ndef add(x, y):\n    return y + x\n")
    (here / "helper.py").write_text("TWO = 2\n")
    form = msgspec.structs.replace(ADD, call=("add(x, y)", "add_2.py:add(x, y)"))
    path = here / "both.roofscope.py"
    path.write_text(form_text(form))
    assert read_form(path) == form
    assert form.others == ("add_2.py",)
    assert {file.name for file in files_of_form(path, form)} == {"add.py", "add_2.py", "helper.py"}
    parts = read_parts(path)
    assert {"eager_add", "eager_add_2_add"} <= set(parts.entries)
    assert parts.entries["eager_add_2_add"].file == str(here / "add_2.py")
    assert parts.entries["eager_add_2_add"].call == "add(x, y)"
    before = {one.stem: one.source_hash for one in parts.implementations}
    (here / "add_2.py").write_text("def add(x, y):\n    return y + x + 0\n")
    after = {one.stem: one.source_hash for one in read_parts(path).implementations}
    assert {stem for stem in before if before[stem] != after[stem]} >= {"eager_add_2_add"}
    (here / "add_2.py").chmod(0o666)
    assert "no tool can" in fault_of(own_file._require_trust, own_file.survey_form(path))
    (here / "add_2.py").unlink()
    with pytest.raises(FormFault, match=r"its file add_2\.py cannot be read"):
        read_parts(path)
    assert scan([path]).problems


def test_a_call_of_another_folder_is_none() -> None:
    assert split_call("add_2.py:add(x)") == ("add_2.py", "add(x)")
    for call in ("add(x)", "../a.py:f(x)", "/etc/a.py:f(x)", "f(x, {'a.py:b': 1})"):
        assert split_call(call) == ("", call)


def test_versions_with_different_work_have_no_job_in_common(
    recorded: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, size in ((1, 1000), (2, 2000)):
        folder = recorded.version(number)
        write_own(folder / "add.py", b"def add(x, y):\n    return x + y\n")
        form = msgspec.structs.replace(ADD, sizes={"n": size})
        write_own(folder / "add.roofscope.py", form_text(form).encode())
    request = CompareRequest(a=1, b=2, in_turn=True)
    assert "no job can hold both" in fault_of(comparing.compare, recorded, request, Control())
