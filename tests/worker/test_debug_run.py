"""Planted mistakes, each named by a debug run with its line; in Triton's interpreter, without a GPU.

Each file of tests/data/mistakes has one, on the line that says so.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from roofscope.app.presentation.debugging.map_text import map_lines
from roofscope.app.presentation.debugging.running import debugged
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.catalog import Kernel, scan
from roofscope.profiling.planning.debug_question import DebugQuestion, default_sizes
from roofscope.profiling.planning.spec import Implementation, Provider, Workload
from roofscope.profiling.process_tree import below
from roofscope.profiling.results.debugging import (
    DebugReport,
    DebugStage,
    Mistake,
    PatternKind,
    Said,
    StageEnd,
    StageName,
)
from roofscope.profiling.supervision import debug_run
from roofscope.profiling.supervision.debug_child import ChildEnd, EndedBy
from roofscope.profiling.supervision.debug_run import DebugRequest, DebugRun

pytest.importorskip("triton")

MISTAKES = Path(__file__).parents[1] / "data" / "mistakes"
PLANTED = {
    "no_mask": Mistake.NO_MASK,
    "block_size": Mistake.BLOCK_NO_POWER_OF_TWO,
    "grid_too_small": Mistake.GRID_TOO_SMALL,
    "grid_too_large": Mistake.GRID_TOO_LARGE,
    "short_sum": Mistake.SHORT_SUM,
    "wrong_dtype": Mistake.WRONG_DTYPE,
    "race": Mistake.RACE,
    "uninitialised": Mistake.UNINITIALISED,
    "wrong_stride": Mistake.WRONG_STRIDE,
    "not_contiguous": Mistake.NOT_CONTIGUOUS,
    "wrong_device": Mistake.WRONG_DEVICE,
}
# Mended by what the cure says, of the mistakes whose mending is one edit.
MENDED = {
    "no_mask": ("tl.store(out + i, a + b)", "tl.store(out + i, a + b, mask=i < n)"),
    "grid_too_small": ("(n // 256,)", "(triton.cdiv(n, 256),)"),
    "short_sum": ("tl.float16", "tl.float32"),
    "wrong_dtype": ("torch.float16", "x.dtype"),
    "race": ("tl.store(out, part)", "tl.atomic_add(out, part)"),
    "uninitialised": ("torch.empty(1", "torch.zeros(1"),
    "wrong_stride": ("x.stride(1), x.stride(0)", "x.stride(0), x.stride(1)"),
    "not_contiguous": ("turned = x.t()", "turned = x.t().contiguous()"),
    "wrong_device": ("dtype=x.dtype)\n    out", "dtype=x.dtype, device=x.device)\n    out"),
}


def own(form: Path) -> tuple[Kernel, Implementation]:
    (kernel,) = scan([form]).kernels
    found = [one for one in kernel.implementations if kernel.entries[one.stem].call != kernel.spec.formula]
    return kernel, found[0]


def request_of(form: Path, device: Device | None = None) -> DebugRequest:
    kernel, implementation = own(form)
    dtype = kernel.spec.dtypes[0]
    workload = Workload(kernel.spec.name, dtype, default_sizes(kernel, implementation, dtype))
    return DebugRequest(kernel, implementation, workload, device or cpu_device())


def report_of(form: Path) -> DebugReport:
    return debugged(request_of(form), lambda _said: None)


def copied(name: str, folder: Path, old: str = "", new: str = "") -> Path:
    text = (MISTAKES / f"{name}.py").read_text()
    assert old in text
    (folder / f"{name}.py").write_text(text.replace(old, new) if old else text)
    form = folder / f"{name}.roofscope.py"
    form.write_text((MISTAKES / form.name).read_text())
    return form


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_named_with_its_line(name: str) -> None:
    report = report_of(MISTAKES / f"{name}.roofscope.py")

    assert [finding.mistake for finding in report.findings] == [PLANTED[name]]
    (finding,) = report.findings
    assert finding.where is not None
    lines = (MISTAKES / f"{name}.py").read_text().splitlines()
    assert "the mistake" in lines[finding.where.number - 1]
    assert finding.where.name == f"{name}.py"
    assert finding.cure
    assert not report.is_clean


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MENDED)
def test_mended_as_the_cure_says_it_is_clean(name: str, tmp_path: Path) -> None:
    report = report_of(copied(name, tmp_path, *MENDED[name]))

    assert report.findings == ()
    assert report.is_clean
    assert all(output.is_right for output in report.outputs)


def test_stages_are_heard_as_they_begin_and_end() -> None:
    heard: list[Said] = []
    debugged(request_of(MISTAKES / "no_mask.roofscope.py"), heard.append)

    assert [said.begun for said in heard if said.begun] == [StageName.INTERPRETER, StageName.INTERPRETED]
    ended = {said.stage.name: said.stage.end for said in heard if said.stage}
    assert ended == {
        StageName.INTERPRETER: StageEnd.FOUND,
        StageName.INTERPRETED: StageEnd.CLEAN,
        StageName.BUILD: StageEnd.LEFT_OUT,  # no GPU
    }


def test_what_was_never_written_is_on_the_map() -> None:
    (output,) = report_of(MISTAKES / "grid_too_small.roofscope.py").outputs

    assert (output.unwritten, output.count) == (7, 1031)
    assert (output.unwritten_pattern.kind, output.unwritten_pattern.first) == (PatternKind.FROM, 1024)
    assert map_lines(output)[-2].rstrip() == "_" * 7


def test_a_kernel_of_the_library_is_clean_with_blocks_and_descriptors() -> None:
    kernel = next(one for one in scan().kernels if one.spec.name == "weighted_sum")
    implementation = kernel.implementation("triton_textbook")
    assert implementation is not None
    dtype = kernel.spec.dtypes[0]
    workload = Workload("weighted_sum", dtype, default_sizes(kernel, implementation, dtype))

    report = debugged(DebugRequest(kernel, implementation, workload, cpu_device()), lambda _said: None)

    assert report.is_clean
    assert report.has_run


def test_an_eager_version_runs_on_the_cpu_and_is_compared() -> None:
    kernel = next(one for one in scan().kernels if one.spec.name == "softmax")
    implementation = kernel.implementation("eager")
    assert implementation is not None
    assert implementation.provider is Provider.EAGER
    workload = Workload("softmax", kernel.spec.dtypes[0], {"rows": 5, "cols": 7})

    report = debugged(DebugRequest(kernel, implementation, workload, cpu_device()), lambda _said: None)

    assert [stage.name for stage in report.stages] == [StageName.BUILD, StageName.CALL, StageName.COMPARISON]
    assert report.is_clean


def test_a_kernel_that_ends_its_process_costs_a_stage(tmp_path: Path) -> None:
    form = copied("no_mask", tmp_path, "    out = torch", "    import os\n    os.abort()\n    out = torch")

    report = report_of(form)

    stage = report.stages[0]
    assert (stage.name, stage.end) == (StageName.INTERPRETER, StageEnd.FAILED)
    assert "SIGABRT" in stage.text
    assert not report.is_clean


def test_one_that_does_not_end_is_ended_at_a_stop_and_leaves_nothing(tmp_path: Path) -> None:
    body = "    import subprocess, time\n    subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    mark = tmp_path / "begun"
    loop = f"    open({str(mark)!r}, 'w').close()\n    while True:\n        time.sleep(0.1)\n    out = torch"
    form = copied("no_mask", tmp_path, "    out = torch", body + loop)
    before = set(below(os.getpid()))

    report = debugged(request_of(form), lambda _said: None, mark.exists)

    assert report.is_stopped
    assert report.stages[0].text == "Stopped by the user."
    assert set(below(os.getpid())) == before


def test_a_call_that_raises_is_not_called_clean_by_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """compute-sanitizer comes to its summary, and has seen no kernel."""

    def child(question: DebugQuestion, hear: Callable[[Said], None], *_: object) -> ChildEnd:
        Path(question.tool[question.tool.index("--log-file") + 1]).write_text(
            "========= ERROR SUMMARY: 0 errors\n"
        )
        text = "The call ended with: name 'y' is not defined."
        hear(Said(stage=DebugStage(StageName.CALL, StageEnd.FAILED, text)))
        return ChildEnd(EndedBy.ITSELF)

    monkeypatch.setattr(debug_run, "run_child", child)
    said: list[Said] = []
    run = DebugRun(request_of(MISTAKES / "no_mask.roofscope.py"), said.append, lambda: False)
    run._observe("compute-sanitizer", StageName.MEMCHECK)

    (stage,) = [one.stage for one in said if one.stage]
    assert stage.end is StageEnd.LEFT_OUT
    assert "name 'y' is not defined" in stage.text
