"""A trace belongs to a point: it is taken of the very files and on the very device of the time."""

from pathlib import Path

import msgspec
import pytest
import typer

from roofscope.app.cli.trace import Wanted, record_trace
from roofscope.app.cli.trace_recording import Recording
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype, Workload
from roofscope.profiling.planning.trace_options import MOST_TRACE_BYTES, TraceOptions, why_too_large
from roofscope.profiling.results.outcome import Failed, FailureKind, Stage
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.supervision.tracing import CannotTrace, newest_measured, trace_job, trace_jobs
from roofscope.tests.sessions import DEVICE, measured
from roofscope.tests.worker.toys import REFERENCE, add_toy

HERE = (DEVICE,)


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    return add_toy(tmp_path / "mine", "toy", REFERENCE).parent


@pytest.fixture
def session(tmp_path: Path, kernels: Path) -> Session:
    """One measured point of the kernel ``toy``."""
    kernel = scan([kernels]).kernel("toy")
    assert kernel is not None
    [job] = plan_jobs(
        [kernel],
        device=DEVICE.id,
        dtypes=[Dtype.FLOAT32],
        size_choices=[SizeChoice("small")],
        stems=["eager"],
        first_id=7,
    )
    path = tmp_path / "a.roofscope"
    with SessionStore.create(path) as store:
        store.add_environment(Environment("host", "os", "3.12", (), HERE), DEVICE.id)
        store.add_outcome(job, job.implementations[0], measured(1e-3))
    return load(path)


def test_a_trace_is_a_job_of_its_own(session: Session, kernels: Path) -> None:
    job = trace_job(session, session.points[0], scan([kernels]), HERE)
    assert job.id == "job-8"
    assert job.implementations == (session.points[0].implementation,)


def test_edited_files_are_refused_by_the_command_line_in_the_windows_words(
    session: Session, kernels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    eager = kernels / "toy" / "eager.py"
    eager.write_text(f"{eager.read_text()}# edited\n")
    with pytest.raises(typer.Exit) as refused:
        record_trace(session.path, Wanted(("toy/eager",)), Recording(scan([kernels]), HERE), None)
    assert refused.value.exit_code == 2
    assert capsys.readouterr().err == (
        "The files of toy / eager PyTorch changed since it was measured; run it again first.\n"
    )
    assert load(session.path).traces == ()


def test_several_points_are_jobs_with_numbers_of_their_own(session: Session, kernels: Path) -> None:
    jobs = trace_jobs(session, [session.points[0]] * 3, scan([kernels]), HERE)
    assert [job.id for job in jobs] == ["job-8", "job-9", "job-10"]


def test_all_is_the_newest_point_of_each_workload_with_a_time(session: Session) -> None:
    first = session.points[0]
    later = msgspec.structs.replace(first, number=2)
    other = msgspec.structs.replace(first.job, workload=Workload("toy", Dtype.FLOAT16, {"n": 64}))
    elsewhere = msgspec.structs.replace(first, number=3, job=other)
    failed = msgspec.structs.replace(
        elsewhere, number=4, outcome=Failed(FailureKind.TIMEOUT, Stage.BUILD, "no")
    )
    session.points = (first, later, elsewhere, failed)
    assert [point.number for point in newest_measured(session)] == [2, 3]


def test_the_command_line_takes_points_or_all(session: Session, kernels: Path) -> None:
    how = Recording(scan([kernels]), HERE)
    for wanted in (Wanted(()), Wanted(("toy/eager",), is_all=True)):
        with pytest.raises(typer.Exit):
            record_trace(session.path, wanted, how, None)


def test_a_trace_that_is_too_large_says_what_to_leave_out() -> None:
    most = MOST_TRACE_BYTES
    assert why_too_large(most, TraceOptions()) == ""
    said = why_too_large(3 * most, TraceOptions(stacks=True))
    assert said == (
        "The trace has 384 MiB of JSON text, and a session keeps 128 MiB of one; "
        "record it without shapes and stacks."
    )
    assert why_too_large(3 * most, TraceOptions(shapes=False)).endswith("choose a smaller workload.")


def test_a_kernel_that_is_gone_is_refused(session: Session, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(CannotTrace, match="no longer among the kernels"):
        trace_job(session, session.points[0], scan([tmp_path / "none"]), HERE)


def test_another_machine_is_refused(session: Session, kernels: Path) -> None:
    with pytest.raises(CannotTrace, match="which is not in this machine"):
        trace_job(session, session.points[0], scan([kernels]), ())
