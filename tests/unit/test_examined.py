"""Outcomes without a GPU: sizes that are interpreted, architectures by name, words, and what is stored."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from roofscope.app.presentation.detail_facts import sections
from roofscope.app.presentation.examined import examined_figures, examined_sentence, examined_title
from roofscope.app.presentation.point_row import point_rows
from roofscope.app.presentation.recorded import example_sessions, recorded_time
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.analysis.verdict import VerdictKind, verdict
from roofscope.profiling.doctor import CheckState, check_without_gpu
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Provider, Workload
from roofscope.profiling.results.outcome import Examined, Outcome
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.architecture import UnknownArchitecture, architecture_named, gpu_of
from roofscope.profiling.worker.job.examined_sizes import MOST_ELEMENTS, sizes_to_interpret
from roofscope.tests.sessions import examined, make_session


@pytest.mark.parametrize(
    ("text", "found"),
    [("sm_90", "sm_90"), ("sm_90a", "sm_90"), ("9.0", "sm_90"), ("120", "sm_120"), ("RTX 4090", "sm_89")],
)
def test_an_architecture_is_known_by_its_names_and_by_a_gpu(text: str, found: str) -> None:
    assert architecture_named(text) == found
    assert gpu_of(found) is not None


@pytest.mark.parametrize("text", ["sm_12345", "sm_70", "", "a fast one"])
def test_an_unknown_architecture_is_refused_with_those_that_are_known(text: str) -> None:
    with pytest.raises(UnknownArchitecture, match="choose from sm_75"):
        architecture_named(text)


def test_every_kernel_is_interpreted_at_few_elements_and_within_its_domains() -> None:
    for kernel in scan().kernels:
        jobs = plan_jobs([kernel], device="cpu", dtypes=(), size_choices=[SizeChoice("medium", or_any=True)])
        for implementation in kernel.implementations:
            if implementation.provider is not Provider.TRITON:
                continue
            sizes = sizes_to_interpret(kernel.spec, jobs[0].workload, implementation.domain)
            assert kernel.spec.problem_with(sizes) is None
            shapes = [
                kernel.spec.shape(tensor, sizes) for tensor in (*kernel.spec.inputs, *kernel.spec.outputs)
            ]
            assert sum(_product(shape) for shape in shapes) <= MOST_ELEMENTS, (implementation.key, sizes)


def test_small_sizes_are_interpreted_as_they_are() -> None:
    kernel = scan().kernel("softmax")
    assert kernel is not None
    workload = Workload("softmax", Dtype.FLOAT32, {"rows": 7, "cols": 13})
    assert sizes_to_interpret(kernel.spec, workload) == {"rows": 7, "cols": 13}


def test_an_examined_point_has_no_time_anywhere_and_its_figures_in_the_export() -> None:
    session, point = _session_with(examined())
    assert point.measured is None
    assert verdict(point, session).kind is VerdictKind.EXAMINED
    record = list(point_records(session))[-1]
    assert (record.outcome, record.median_s, record.fraction_of_roof) == ("examined", None, None)
    assert (record.registers, record.architecture, record.verified_sizes) == (40, "sm_90", "n=1024")
    assert record.relative_error == pytest.approx(3.1e-8)
    row = point_rows(session, Provider.EAGER)[-1]
    facts = {fact.name: fact.value for part in sections(row, session) for fact in part.facts}
    assert facts["Here"] == "none: it did not run on a GPU"
    assert facts["Shared memory"] == "4.00 KiB"  # with what its launch asks for
    assert facts["Occupancy"].startswith("50 %: 4 blocks")  # 512 blocks for 132 multiprocessors


def test_words_say_what_was_not_done() -> None:
    both, compiled = examined(), examined(is_interpreted=False, missing="Not interpreted: it is Gluon.")
    assert examined_title(both) == "verified in the interpreter, not timed; compiled for sm_90, not run"
    assert examined_title(compiled) == "compiled for sm_90a, not run"
    assert "16 B of spills" in examined_figures(compiled)
    workload = Workload("gelu", Dtype.FLOAT32, {"n": 2**24})
    assert examined_sentence(both, workload).startswith("Verified in Triton's interpreter at 1Ki, not timed.")
    assert examined_sentence(compiled, workload).endswith("Not interpreted: it is Gluon.")


def test_the_outcome_and_its_job_are_read_back_and_older_jobs_are_timed() -> None:
    outcome = examined()
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome
    job = make_session().points[0].job
    older = msgspec.to_builtins(job)
    del older["architecture"]
    assert msgspec.convert(older, Job).architecture == ""
    cuda = next(one for one in job.implementations if one.provider is Provider.CUDA)
    eager = next(one for one in job.implementations if one.provider is Provider.EAGER)
    assert not job.examines(cuda)
    asked = replace(job, architecture="sm_90")
    assert asked.examines(cuda)
    assert not asked.examines(eager)


def test_a_recorded_time_names_its_machine_and_whether_the_source_is_the_same() -> None:
    recorded = make_session()
    other = next(point for point in recorded.points if point.measured)
    _, mine = _session_with(examined(), like=other)
    found = recorded_time(mine, [recorded])
    assert found is not None
    assert found.is_same_source
    assert found.is_same_size
    assert found.text.startswith("NVIDIA H200: ")
    edited = replace(mine, implementation=replace(mine.implementation, source_hash="0" * 64))
    found = recorded_time(edited, [recorded])
    assert found is not None
    assert found.text.endswith("; source changed since")
    assert recorded_time(mine, []) is None


def test_a_folder_without_sessions_gives_none(tmp_path: Path) -> None:
    (tmp_path / "broken.roofscope").write_text("no session")
    assert example_sessions(tmp_path) == ()


def test_the_doctor_says_what_can_be_done_without_a_gpu() -> None:
    assert "compiles Triton and CUDA" in check_without_gpu("3.9.0", "NVRTC 13").finding
    assert check_without_gpu(None, None).state is CheckState.MISSING


def _session_with(outcome: Examined, like: Point | None = None) -> tuple[Session, Point]:
    session = make_session()
    model = like or next(point for point in session.points if point.measured)
    number = max(one.number for one in session.points) + 1
    point = Point(number, model.job, model.implementation, outcome, model.recorded_at)
    session.points = (*session.points, point)
    return session, point


def _product(shape: tuple[int, ...]) -> int:
    result = 1
    for extent in shape:
        result *= extent
    return result
