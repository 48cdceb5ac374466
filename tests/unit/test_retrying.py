"""Points that are measured once more, and the pauses that this lifts."""

import pytest
from msgspec.structs import replace

from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.spec import Axis, Dtype, WorkFormula
from roofscope.profiling.results.outcome import Failed, FailureKind, SkipKind, Skipped, Stage
from roofscope.profiling.results.session import Point
from roofscope.profiling.supervision.pauses import Pauses
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.retrying import CannotRetry, is_paused, retry_jobs
from roofscope.tests.sessions import DEVICE, job, make_session, measured

LOST = Failed(FailureKind.WORKER_LOST, Stage.MEASURE, "The worker was lost.")


def test_what_cost_a_worker_is_paused_until_it_is_wanted_again() -> None:
    run = Run(job("gelu", Dtype.FLOAT32, "small", "job-1"))
    first = run.job.implementations[0]
    pauses = Pauses()
    pauses.note(first, LOST)
    rest, skipped = pauses.split(run)
    assert rest is not None
    assert first not in rest.job.implementations
    assert [report.implementation for report in skipped] == [first]
    pauses.lift([first])
    assert pauses.split(run) == (run, [])


def test_a_run_that_is_told_so_pauses_nothing() -> None:
    run = Run(job("gelu", Dtype.FLOAT32, "small", "job-1"))
    pauses = Pauses(are_kept=False)
    pauses.note(run.job.implementations[0], LOST)
    assert pauses.split(run) == (run, [])


def test_points_of_one_workload_are_one_job() -> None:
    catalog = scan()
    session = make_session()
    kernel = catalog.kernel("gelu")
    assert kernel is not None
    of_gelu = [point for point in session.points if point.implementation.kernel == "gelu"]
    here = {one.stem for one in kernel.implementations}
    points = [point for point in of_gelu if point.implementation.stem in here]
    jobs = retry_jobs(session, points, catalog, (DEVICE,))
    workloads = {(point.job.workload.dtype, point.job.workload.size_label) for point in points}
    assert len(jobs) == len(workloads) > 1
    assert sum(len(one.implementations) for one in jobs) == len(points)
    assert all(found in kernel.implementations for one in jobs for found in one.implementations)
    assert not {one.id for one in jobs} & {point.job.id for point in session.points}


def edited(catalog: Catalog, **changes: object) -> Catalog:
    """The catalog after an edit of gelu's spec."""
    kernels = tuple(
        replace(one, spec=replace(one.spec, **changes)) if one.spec.name == "gelu" else one
        for one in catalog.kernels
    )
    return replace(catalog, kernels=kernels)


def test_work_is_that_of_the_spec_as_it_is_now() -> None:
    catalog, session = scan(), make_session()
    kernel = catalog.kernel("gelu")
    assert kernel is not None
    here = {one.stem for one in kernel.implementations}
    point = next(
        one
        for one in session.points
        if one.implementation.kernel == "gelu" and one.implementation.stem in here
    )
    work = WorkFormula("1000*n", kernel.spec.work.read_bytes, kernel.spec.work.write_bytes)
    [again] = retry_jobs(session, [point], edited(catalog, work=work), (DEVICE,))
    [size] = point.job.workload.sizes.values()
    assert again.work.flop_count == 1000 * size != point.job.work.flop_count
    assert again.workload == point.job.workload
    with pytest.raises(CannotRetry, match=r"gelu no longer takes "):
        retry_jobs(session, [point], edited(catalog, dtypes=()), (DEVICE,))
    axes = (Axis("rows", "rows"),)
    with pytest.raises(CannotRetry, match="gelu has no axis 'n'"):
        retry_jobs(session, [point], edited(catalog, axes=axes), (DEVICE,))
    endless = WorkFormula("n**9", "n", "n")
    with pytest.raises(CannotRetry, match=r"which no device does|cannot be planned"):
        retry_jobs(session, [point], edited(catalog, work=endless), (DEVICE,))


def test_what_cannot_be_tried_again_says_why() -> None:
    session = make_session()
    with pytest.raises(CannotRetry, match="another machine"):
        retry_jobs(session, session.points[:1], scan(), ())
    with pytest.raises(CannotRetry, match="no longer among the kernels"):
        retry_jobs(session, session.points[:1], scan([]), (DEVICE,))


def test_which_points_are_paused() -> None:
    point: Point = make_session().points[0]
    assert is_paused(replace(point, outcome=LOST))
    assert is_paused(replace(point, outcome=Skipped(SkipKind.PAUSED, "It is paused.")))
    assert not is_paused(replace(point, outcome=Failed(FailureKind.BUILD_ERROR, Stage.BUILD, "No.")))
    assert not is_paused(replace(point, outcome=measured(1e-3)))
