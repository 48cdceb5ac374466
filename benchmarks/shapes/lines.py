"""Which results of sessions are those of a shape that was drawn, and what is left to measure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from roofscope.benchmarks.answered import answers, by_job
from roofscope.benchmarks.peers.rows import ROWS, Row
from roofscope.benchmarks.peers.table import OURS, Line, candidates
from roofscope.benchmarks.shapes.drawing import Shape, draw
from roofscope.profiling.planning.catalog import Kernel
from roofscope.profiling.planning.plan import Job, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Point, Session


class Planned(Struct, frozen=True):
    """A shape and the job that measures it."""

    shape: Shape
    job: Job


class Measured(Struct, frozen=True):
    """A shape and what came of its job."""

    shape: Shape
    line: Line


def usual_dtype(kernel: Kernel) -> Dtype:
    """That of the comparison's rows, bfloat16 before others; else what the kernel takes."""
    in_rows = {row.dtype for row in ROWS if row.kernel == kernel.spec.name} or set(kernel.spec.dtypes)
    return min(in_rows, key=(Dtype.BFLOAT16, Dtype.FLOAT32, Dtype.FLOAT16).index)


def planned(
    kernel: Kernel,
    dtype: Dtype,
    *,
    seed: int,
    count: int,
    device: str,
    memory_bytes: int,
    first_id: int,
    peers: Sequence[str] = (),
) -> list[Planned]:
    """The shapes of a kernel with their jobs, of ours and these peers, all if none. Raises CannotDraw."""
    ours = {found.stem for found in kernel.implementations if found.provider in OURS}
    stems = [stem for stem in candidates(kernel, dtype) if not peers or stem in ours or stem in peers]
    shapes = draw(kernel.spec, dtype, seed=seed, count=count, memory_bytes=memory_bytes)
    jobs = plan_jobs(
        [kernel],
        device=device,
        dtypes=[dtype],
        size_choices=[SizeChoice("large", shape.workload.sizes) for shape in shapes],
        stems=stems,
        first_id=first_id,
    )
    return [Planned(shape, job) for shape, job in zip(shapes, jobs, strict=True)]


def done(plans: Sequence[Planned], sessions: Iterable[Session]) -> list[Measured]:
    """The plans that have an outcome of every version, as its file is now, in their order; the newest counts.

    A job that was stopped, or of files that were edited since, is to be measured again.
    """
    by_workload = {plan.job.workload.label: plan for plan in plans}
    found: dict[str, Measured] = {}
    for session in sessions:
        for points in by_job(session):
            label = points[0].job.workload.label
            plan = by_workload.get(label)
            if plan and answers(plan.job, points):
                found[label] = _measured(plan.shape, points)
    return [found[label] for label in by_workload if label in found]


def _measured(shape: Shape, points: tuple[Point, ...]) -> Measured:
    workload = shape.workload
    row = Row(shape.kind, workload.kernel, workload.dtype, workload.sizes)
    return Measured(shape, Line(row, points[0].job, points))
