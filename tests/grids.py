"""INVENTED TEST DATA: a grouped product in several tiles and numbers of warps. No time here was measured."""

from msgspec.structs import replace

from roofscope.profiling.planning.parameters import Parameter, combinations
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.results.outcome import SkipKind, Skipped
from roofscope.profiling.results.session import Point, Session
from roofscope.tests.sessions import CEILINGS, DEVICE, RECORDED_AT, SPEC_OF, empty_session, measured

BLOCK = Parameter("BLOCK_M", (32, 64, 128, 256), 128, 128)
WARPS = Parameter("num_warps", (4, 8), 8, 8)
STAGES = Parameter("stages", (3, 4), 3, 3)
TOO_LARGE = "matmul / Triton grouped needs 256 KiB of shared memory a block, and this GPU has 227 KiB."
_TIMES_S = {32: 900e-6, 64: 620e-6, 128: 480e-6, 256: 520e-6}


def grouped(*parameters: Parameter, source: str = "c" * 64) -> Implementation:
    return Implementation("matmul", Provider.TRITON, "grouped", source, parameters=parameters)


def grid_session(
    *parameters: Parameter, half_width: float = 0.004, near: float = 1.08, size: int = 2048
) -> Session:
    """Every combination in one job; the largest tile fits in 8 warps only. ``near``: 4 warps over 8."""
    session = empty_session(ceilings=CEILINGS)
    session.specs = {**session.specs, "matmul": SPEC_OF["matmul"]}
    declared = grouped(*(parameters or (BLOCK, WARPS)))
    wanted = {one.name: one.choices for one in declared.parameters}
    variants = tuple(map(declared.with_parameters, combinations(declared.parameters, wanted)))
    add_variants(session, variants, size, half_width, near)
    return session


def add_variants(
    session: Session,
    variants: tuple[Implementation, ...],
    size: int = 2048,
    half_width: float = 0.004,
    near: float = 1.08,
) -> None:
    """One more job of the session."""
    sizes = {axis.name: size for axis in SPEC_OF["matmul"].axes}
    work = SPEC_OF["matmul"].work_at(sizes, Dtype.FLOAT32)
    workload = Workload("matmul", Dtype.FLOAT32, sizes)
    job = Job(f"job-{len(session.points) + 1}", DEVICE.id, workload, work, variants)
    for variant in variants:
        values = {one.name: one.value for one in variant.parameters}
        block, warps, stages = (values.get(name, 0) for name in ("BLOCK_M", "num_warps", "stages"))
        time_s = _TIMES_S.get(int(block or 128), 1e-3) * (near if warps == 4 else 1.0)
        outcome = measured(time_s * (1.1 if stages == 4 else 1.0), half_width=half_width)
        if (block, warps) == (256, 4):
            outcome = Skipped(SkipKind.UNSUPPORTED, TOO_LARGE)
        point = Point(len(session.points) + 1, job, variant, outcome, RECORDED_AT)
        session.points = (*session.points, point)


def with_value(implementation: Implementation, name: str, value: int) -> Implementation:
    chosen = (one.chosen(value) if one.name == name else one for one in implementation.parameters)
    return replace(implementation, parameters=tuple(chosen))
