"""INVENTED TEST DATA: sizes of vector_add and of matmul as on one H200. No time in here was measured."""

from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.results.outcome import Failed, FailureKind, Outcome, Stage
from roofscope.profiling.results.session import Point, Session
from roofscope.tests.sessions import (
    CEILINGS,
    DEVICE,
    LAUNCH_FLOOR_S,
    RECORDED_AT,
    SPEC_OF,
    empty_session,
    implementations,
    measured,
)

ODD = 98432  # at which the CUDA version of vector_add has wrong values
_BYTES_A_SECOND = {
    Provider.CUDA: 4.1e12,
    Provider.TRITON: 4.0e12,
    Provider.EAGER: 3.4e12,
    Provider.COMPILE: 3.8e12,
}


def sweep_session(powers: range = range(10, 29, 2), *, kernels: tuple[str, ...] = ("vector_add",)) -> Session:
    """Five implementations over powers of two and one odd size, of which one is wrong at the odd one."""
    session = empty_session(ceilings=CEILINGS)
    for kernel in kernels:
        for size in sorted((*(2**power for power in powers), ODD)):
            add_size(session, kernel, size)
    return session


def add_size(session: Session, kernel: str, size: int, **others: int) -> None:
    """One more job: all axes of the kernel at this size but those that are named."""
    spec = SPEC_OF[kernel]
    sizes = {axis.name: others.get(axis.name, size) for axis in spec.axes}
    chosen = (*implementations(kernel), Implementation(kernel, Provider.TRITON, "second", "0" * 64))
    number = len(session.points) + 1
    job = Job(
        f"job-{number}",
        DEVICE.id,
        Workload(kernel, Dtype.FLOAT32, sizes),
        spec.work_at(sizes, Dtype.FLOAT32),
        chosen,
    )
    for implementation in chosen:
        outcome = _outcome(implementation, job, size)
        point = Point(len(session.points) + 1, job, implementation, outcome, RECORDED_AT)
        session.points = (*session.points, point)


def _outcome(implementation: Implementation, job: Job, size: int) -> Outcome:
    if implementation.provider is Provider.CUDA and size == ODD:
        return Failed(
            FailureKind.WRONG_VALUES,
            Stage.VERIFY,
            f"{implementation.title} is wrong at n={size}: relative error 0.7, allowed 1e-06.",
        )
    rate = _BYTES_A_SECOND[implementation.provider] * (0.9 if implementation.variant == "second" else 1)
    least_s = max(job.work.byte_count / rate, job.work.flop_count / 45e12)
    return measured(least_s + LAUNCH_FLOOR_S, half_width=0.01 + 0.003 * (size % 13))
