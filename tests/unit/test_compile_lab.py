"""The torch.compile laboratory: whether compiling is worth it, and what broke, on recorded points."""

from functools import cache

import msgspec
import pytest

from roofscope.app.cli.documents import CompileDocument
from roofscope.app.presentation.compile_lab import (
    COLUMNS,
    WORTH_COMPILING,
    Laboratory,
    Worth,
    laboratories,
    summary_text,
)
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import CodeNote, CompileNotes, Method
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.tests.recorded import kept
from roofscope.tests.sessions import make_session


@cache
def of(name: str) -> tuple[Laboratory, ...]:
    return laboratories(load(kept(name)))


def one(name: str, kernel: str, workload: str) -> Laboratory:
    return next(lab for lab in of(name) if (lab.kernel, lab.workload) == (kernel, workload))


def test_each_compiled_workload_of_the_shipped_session_is_judged():
    session, labs = load(ASSETS / "sessions" / "h200.roofscope"), of("h200")
    compiled = {p.job.workload.label for p in session.points if p.implementation.provider is Provider.COMPILE}
    assert len(labs) == len(compiled) == 56
    assert {lab.worth for lab in labs} <= {Worth.YES, Worth.NO, Worth.OPEN, Worth.IN_GRAPH}
    assert summary_text(labs) == "Compiling is worth it for 26 of 56 workloads."


def test_the_line_divides_by_the_interval_and_not_by_the_middle():
    for lab in of("h200"):
        for mode in lab.modes:
            assert mode.low is not None
            assert mode.high is not None
            assert (mode.worth is Worth.NO) is (mode.high < WORTH_COMPILING)
            if mode.worth is Worth.YES:
                assert mode.low >= WORTH_COMPILING


def test_a_softmax_that_is_slower_compiled_is_not_worth_it():
    lab = one("h200", "softmax", "bf16 8Ki × 16Ki")
    assert lab.worth is Worth.NO
    assert lab.sentence == (
        "Worth compiling: no. Mode default is 0.861× as fast as eager (95 % CI 0.859 to 0.863), "
        "below the line of 1.20×."
    )


def test_what_fusing_saved_is_said_where_compiling_is_worth_it():
    lab = one("h200", "small_ops", "fp32 64Mi")
    assert lab.worth is Worth.YES
    assert lab.sentence.endswith("above the line of 1.20×: 1 for 5 kernels.")
    mode = lab.modes[0]
    assert (mode.graph_count, mode.graph_breaks, mode.recompiles, mode.kernel_calls) == (1, 0, 0, 1)
    assert len(mode.cells) == len(COLUMNS)


def test_a_mode_that_the_host_slows_is_worth_it_inside_a_graph_only():
    """At small sizes a compiled call is shorter on the device, and takes longer to launch."""
    found = [lab for lab in of("h200-tour") for mode in lab.modes if mode.worth is Worth.IN_GRAPH]
    assert found
    for lab in found:
        assert "only inside a CUDA graph" in lab.sentence


def with_modes() -> Session:
    """The invented softmax in four modes."""
    session = make_session()
    compiled = next(
        p for p in session.points if p.implementation.key == "softmax/compile_default" and p.measured
    )
    assert compiled.measured is not None
    broken = CodeNote("Unsupported Tensor.item()", "eager.py", 11, "if x.sum().item() > 0:")
    points = [p for p in session.points if p.job == compiled.job and p.number != compiled.number]
    variants = ("max_autotune", "reduce_overhead", "default", "max_autotune_no_cudagraphs")
    for number, variant in enumerate(variants):
        guard = CodeNote(f"___stack0 == {number}.25", "eager.py", 11)
        build = msgspec.structs.replace(
            compiled.measured.build,
            graph_breaks=1,
            recompiles=3,
            compile_notes=CompileNotes((broken,), (guard,)),
        )
        outcome = msgspec.structs.replace(compiled.measured, build=build)
        implementation = msgspec.structs.replace(compiled.implementation, variant=variant)
        points.append(Point(100 + number, compiled.job, implementation, outcome, compiled.recorded_at))
    session.points = tuple(points)
    return session


def test_modes_stand_in_torchs_order_and_say_what_they_share_once():
    (lab,) = laboratories(with_modes())
    names = [mode.name for mode in lab.modes]
    assert names == ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
    breaks, guards = lab.notes
    assert breaks == (
        f"Modes {', '.join(names)}: the graph breaks at eager.py:11 (if x.sum().item() > 0:): "
        "Unsupported Tensor.item()."
    )
    assert "a guard failed" in guards
    assert "at eager.py:11" in guards


def test_without_eager_beside_it_nothing_is_known():
    session = with_modes()
    session.points = tuple(p for p in session.points if p.implementation.provider is Provider.COMPILE)
    (lab,) = laboratories(session)
    assert lab.worth is Worth.UNKNOWN
    assert "eager was not measured beside it" in lab.sentence
    assert summary_text([lab]) == (
        "No workload of this session was compiled and run by eager, both for long enough to tell."
    )


def test_an_interval_over_the_line_is_too_close_to_tell():
    session = with_modes()
    eager = next(p for p in session.points if p.implementation.provider is Provider.EAGER)
    compiled = next(p for p in session.points if p.implementation.variant == "default")
    assert eager.measured is not None
    assert compiled.measured is not None
    before_s, samples = eager.measured.time.median_s, compiled.measured.time.samples_s
    at_line = tuple(
        before_s / WORTH_COMPILING * sample / compiled.measured.time.median_s for sample in samples
    )
    time = msgspec.structs.replace(
        compiled.measured.time,
        median_s=before_s / WORTH_COMPILING,
        low_s=before_s / 1.25,
        high_s=before_s / 1.15,
        samples_s=at_line,
    )
    close = msgspec.structs.replace(
        compiled, outcome=msgspec.structs.replace(compiled.measured, time=time, method=Method.CUDA_GRAPH)
    )
    session.points = (eager, close)
    (lab,) = laboratories(session)
    assert lab.worth is Worth.OPEN
    assert "the interval holds the line of 1.20×" in lab.sentence


def test_a_hostile_line_of_code_stays_one_line_of_text():
    session = with_modes()
    point = session.points[-1]
    assert point.measured is not None
    evil = CompileNotes((CodeNote("bad\n\x1b[2Jreason", "a\n.py", 3, "x\r\ny"),))
    build = msgspec.structs.replace(point.measured.build, compile_notes=evil)
    outcome = msgspec.structs.replace(point.measured, build=build)
    session.points = (*session.points[:-1], msgspec.structs.replace(point, outcome=outcome))
    (lab,) = laboratories(session)
    for note in lab.notes:
        assert not {"\n", "\r", "\x1b"} & set(note)


@pytest.mark.parametrize("name", ["h200", "h200-tour", "h200-gelu"])
def test_the_document_reads_back(name: str):
    document = CompileDocument(session=name, workloads=of(name))
    text = msgspec.json.encode(document)
    again = msgspec.json.decode(text, type=CompileDocument)
    assert [lab.worth for lab in again.workloads] == [lab.worth for lab in of(name)]
