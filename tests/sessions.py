"""INVENTED TEST DATA: sessions shaped like a run on one H200. No time in here was measured.

Ceilings are close to what an H200 gives, so that charts look as they will; every point's time is
made up from them by a fixed rule. For tests and for looking at views; never shipped as a result.
"""

from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.environment import Environment, Package
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import (
    Axis,
    Dtype,
    Implementation,
    KernelSpec,
    Pipe,
    Preset,
    Provider,
    TensorSpec,
    Tolerance,
    Work,
    WorkFormula,
    Workload,
)
from roofscope.profiling.results.outcome import (
    BuildInfo,
    BuiltKernel,
    Cancelled,
    Difference,
    Evidence,
    Examined,
    Failed,
    FailureKind,
    Flag,
    Launch,
    Measured,
    Method,
    Outcome,
    ProfiledKernel,
    SkipKind,
    Skipped,
    Stage,
    TimeStats,
    Verification,
)
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix, Roofline, Source, compute_bound

RECORDED_AT = "2026-01-02T03:04:05.678+00:00"
UUID = "GPU-00000000-1111-2222-3333-444444444444"
LAUNCH_FLOOR_S = 2.1e-6

DEVICE = Device(
    id="cuda:0",
    kind=DeviceKind.CUDA,
    name="NVIDIA H200",
    uuid=UUID,
    core_count=16896,
    multiprocessor_count=132,
    compute_capability=(9, 0),
    driver_version="580.159.03",
    max_clock_hz=1980e6,
    max_memory_clock_hz=3201e6,
    bus_width_bits=6016,
    memory_bytes=150_754_820_096,
    last_level_cache_bytes=62_914_560,
    power_limit_w=700.0,
    ecc_enabled=True,
    mig_enabled=False,
)

ENVIRONMENT = Environment(
    host="invented-test-data",
    operating_system="Linux 6.8",
    python="3.12.3",
    packages=(
        Package("torch", "2.11.0+cu130"),
        Package("triton", "3.6.0"),
        Package("cuda-core", "0.3.2"),
    ),
    devices=(DEVICE,),
)

_TOLERANCE = Tolerance(float32=1e-6, float16=2e-3, bfloat16=1.6e-2)


def _vector(
    name: str,
    title: str,
    formula: str,
    flop_count: str,
    read_count: int,
    small: int,
    large: int,
) -> KernelSpec:
    return KernelSpec(
        name=name,
        title=title,
        formula=formula,
        axes=(Axis("n", "elements"),),
        inputs=tuple(TensorSpec(f"x{i}", ("n",)) for i in range(read_count)),
        outputs=(TensorSpec("y", ("n",)),),
        work=WorkFormula(flop_count, f"{read_count}*n*s", "n*s"),
        tolerance=_TOLERANCE,
        presets=(Preset("small", {"n": small}), Preset("large", {"n": large})),
        odd_sizes=({"n": 1001},),
        large_magnitude=60.0,
    )


SPECS = (
    _vector("gelu", "GELU (tanh form)", "y = gelu(x)", "9*n", 1, 2**20, 2**27),
    KernelSpec(
        name="matmul",
        title="Matrix product",
        formula="c = a @ b",
        axes=(
            Axis("m", "rows of a"),
            Axis("n", "columns of b"),
            Axis("k", "shared dimension"),
        ),
        inputs=(TensorSpec("a", ("m", "k")), TensorSpec("b", ("k", "n"))),
        outputs=(TensorSpec("c", ("m", "n")),),
        work=WorkFormula("2*m*n*k", "(m*k+k*n)*s", "m*n*s"),
        tolerance=_TOLERANCE,
        presets=(
            Preset("small", {"m": 1024, "n": 1024, "k": 1024}),
            Preset("large", {"m": 8192, "n": 8192, "k": 8192}),
        ),
        odd_sizes=({"m": 65, "n": 33, "k": 17},),
        large_magnitude=60.0,
        pipe=Pipe.TENSOR,
    ),
    KernelSpec(
        name="softmax",
        title="Softmax over rows",
        formula="y = exp(x - max) / sum",
        axes=(Axis("rows", "rows"), Axis("cols", "columns")),
        inputs=(TensorSpec("x", ("rows", "cols")),),
        outputs=(TensorSpec("y", ("rows", "cols")),),
        work=WorkFormula("5*rows*cols", "rows*cols*s", "rows*cols*s"),
        tolerance=_TOLERANCE,
        presets=(
            Preset("small", {"rows": 1024, "cols": 1024}),
            Preset("large", {"rows": 32768, "cols": 4096}),
        ),
        odd_sizes=({"rows": 3, "cols": 1000},),
        large_magnitude=60.0,
    ),
    _vector("vector_add", "Vector addition", "y = a + b", "n", 2, 2**20, 2**27),
    _vector("weighted_sum", "Weighted sum", "y = u*a + v*b", "3*n", 2, 2**20, 2**27),
)
SPEC_OF = {spec.name: spec for spec in SPECS}

_STEMS = {
    "gelu": ("fused", "grid"),
    "matmul": ("tiled", "mma"),
    "softmax": ("online", "warp"),
    "vector_add": ("flat", "vectorised"),
    "weighted_sum": ("flat", "vectorised"),
}

# Share of the limiting roof that a version reaches: invented, in a plausible order.
_SHARE = {
    Provider.CUDA: 0.93,
    Provider.TRITON: 0.91,
    Provider.COMPILE: 0.86,
    Provider.EAGER: 0.55,
}


def ceiling(
    bound: Bound,
    value: float,
    source: Source = Source.MEASURED_BURST,
    mix: Mix | None = None,
) -> Ceiling:
    return Ceiling(bound, source, value, "Invented test data.", UUID, RECORDED_AT, mix)


CEILINGS = (
    ceiling(Bound.DRAM, 4490e9, mix=Mix.READ),
    ceiling(Bound.DRAM, 4687e9, mix=Mix.WRITE),
    ceiling(Bound.DRAM, 4277e9, mix=Mix.COPY),
    ceiling(Bound.DRAM, 4380e9, mix=Mix.TRIAD),
    ceiling(Bound.FP32, 51e12),
    ceiling(Bound.TF32, 390e12),
    ceiling(Bound.FP16, 790e12),
    ceiling(Bound.BF16, 796e12),
    ceiling(Bound.FP8, 1394e12),
    ceiling(Bound.BF16, 642e12, Source.MEASURED_SUSTAINED),
    ceiling(Bound.DRAM, 4814e9, Source.NAMEPLATE),
    ceiling(Bound.FP32, 66.9e12, Source.NAMEPLATE),
    ceiling(Bound.TF32, 535e12, Source.NAMEPLATE),
    ceiling(Bound.FP16, 1070e12, Source.NAMEPLATE),
    ceiling(Bound.BF16, 1070e12, Source.NAMEPLATE),
    ceiling(Bound.FP8, 2141e12, Source.NAMEPLATE),
)


def implementations(kernel: str) -> tuple[Implementation, ...]:
    """The CUDA, Triton, eager and compiled version of an invented kernel."""
    triton, cuda = _STEMS[kernel]
    variants = (
        (Provider.CUDA, cuda),
        (Provider.TRITON, triton),
        (Provider.EAGER, ""),
        (Provider.COMPILE, "default"),
    )
    return tuple(
        Implementation(kernel, provider, variant, f"{crc32(f'{kernel}{variant}'.encode()):064x}")
        for provider, variant in variants
    )


def job(kernel: str, dtype: Dtype, preset: str, job_id: str) -> Job:
    spec = SPEC_OF[kernel]
    chosen = spec.preset(preset)
    assert chosen is not None
    return Job(
        job_id,
        DEVICE.id,
        Workload(kernel, dtype, chosen.sizes),
        spec.work_at(chosen.sizes, dtype),
        implementations(kernel),
    )


def examined(*, is_interpreted: bool = True, missing: str = "") -> Examined:
    """As without a GPU: compiled for sm_90a, and verified where it can be interpreted."""
    launch = Launch(512, 256, 40, 4096, None, (512, 1, 1), (256, 1, 1))
    kernel = BuiltKernel("invented", 40, 16, 1024, launch=launch)
    return Examined(
        Verification(3.1e-8, 4.4e-8, 1e-6, 2, Difference("y", (17, 3), 0.5000001, 0.5))
        if is_interpreted
        else None,
        {"n": 1024} if is_interpreted else {},
        BuildInfo(
            0.2,
            registers=40,
            spill_bytes=16,
            shared_bytes=1024,
            architecture="sm_90" if is_interpreted else "sm_90a",
            kernels=(kernel,),
        ),
        missing,
    )


def measured(
    median_s: float,
    *,
    half_width: float = 0.006,
    host_s: float | None = None,
    flags: tuple[Flag, ...] = (),
    kernel_count: int = 1,
) -> Measured:
    """A measured outcome with ten samples round the median and a relative interval."""
    samples = tuple(median_s * (1 + half_width * wobble / 4) for wobble in (-5, -3, -1, 0, 0, 1, 2, 4, 6, -2))
    return Measured(
        time=TimeStats(
            median_s,
            median_s * (1 - half_width),
            median_s * (1 + half_width),
            samples,
            max(1, int(10e-3 / median_s)),
        ),
        method=Method.CUDA_GRAPH,
        method_reason="",
        verification=Verification(
            3.1e-8, 4.4e-8, 1e-6, 3, Difference("y", (17, 3), 0.5000001, 0.5), worst_part=0.031
        ),
        build=BuildInfo(0.042, registers=32, spill_bytes=0, shared_bytes=0, architecture="sm_90"),
        evidence=Evidence(clock_hz=1980e6, memory_clock_hz=3201e6, power_w=412.0, temperature_c=51.0),
        host_s=host_s if host_s is not None else median_s + 5e-6,
        hot=TimeStats(median_s * 0.9, median_s * 0.89, median_s * 0.91, (median_s * 0.9,), 8),
        kernels=tuple(
            ProfiledKernel(f"invented_kernel_{i}", 1.0, median_s / kernel_count * 0.99)
            for i in range(kernel_count)
        ),
        flags=flags,
    )


def _outcome(implementation: Implementation, a_job: Job) -> Outcome:
    key = (implementation.kernel, implementation.provider, a_job.workload.dtype)
    if key == ("matmul", Provider.CUDA, Dtype.FLOAT16):
        return Failed(
            FailureKind.BUILD_ERROR,
            Stage.BUILD,
            "matmul / CUDA mma does not compile for sm_90; read the log and edit cuda_mma.cu.",
            "cuda_mma.cu(41): error: identifier 'frag' is undefined",
        )
    if key == ("softmax", Provider.TRITON, Dtype.FLOAT16):
        return Failed(
            FailureKind.WRONG_VALUES,
            Stage.VERIFY,
            "softmax / Triton online is wrong at rows=3, cols=1000: relative error 0.7, allowed 0.002.",
        )
    if key == ("matmul", Provider.TRITON, Dtype.FLOAT32):
        return Skipped(
            SkipKind.UNSUPPORTED,
            "matmul / Triton tiled has no IEEE float32 path on this device.",
        )
    if key == ("gelu", Provider.COMPILE, Dtype.FLOAT16):
        return Cancelled()
    return _timed(implementation, a_job.work, a_job.workload.dtype)


def _timed(implementation: Implementation, work: Work, dtype: Dtype) -> Measured:
    provider = implementation.provider
    roof = Roofline(CEILINGS).limiter(work, compute_bound(SPEC_OF[implementation.kernel].pipe, dtype))
    assert roof is not None
    share = _SHARE[provider]
    if implementation.kernel == "matmul":
        share = {
            Provider.EAGER: 0.97,
            Provider.COMPILE: 0.975,
            Provider.TRITON: 0.81,
            Provider.CUDA: 0.64,
        }[provider]
    elif implementation.kernel == "vector_add" and provider in (
        Provider.EAGER,
        Provider.COMPILE,
    ):
        share = 0.95
    wobble = crc32(f"{implementation.key} {dtype} {work.byte_count}".encode()) % 1000 / 1000
    median_s = roof.least_time_s / (share - 0.06 * wobble) + LAUNCH_FLOOR_S * (0.8 + 0.4 * wobble)
    host_s = median_s + (26e-6 if provider is Provider.COMPILE else 5e-6)
    flags = (Flag.LAUNCH_BOUND,) if host_s > 1.5 * median_s else ()
    count = 3 if provider is Provider.EAGER and implementation.kernel == "weighted_sum" else 1
    return measured(
        median_s,
        half_width=0.002 + 0.012 * wobble,
        host_s=host_s,
        flags=flags,
        kernel_count=count,
    )


def empty_session(*, ceilings: Iterable[Ceiling] = ()) -> Session:
    """A session as it is before the first run."""
    return Session(
        Path("invented.roofscope"),
        RECORDED_AT,
        ENVIRONMENT,
        DEVICE,
        dict(SPEC_OF),
        ceilings=tuple(ceilings),
    )


def make_session(*, full: bool = False, ceilings: Iterable[Ceiling] = CEILINGS) -> Session:
    """Five kernels by four providers, with failed, skipped and cancelled points among them.

    By default 44 points: float32 and bfloat16 at one size each and float16 for two kernels;
    ``full`` gives all 120 of three dtypes and two sizes.
    """
    if full:
        chosen = [(s.name, d, p) for s in SPECS for d in Dtype for p in ("small", "large")]
    else:
        chosen = [(spec.name, Dtype.FLOAT32, "large") for spec in SPECS]
        chosen += [
            ("matmul", Dtype.BFLOAT16, "large"),
            ("softmax", Dtype.BFLOAT16, "large"),
        ]
        chosen += [
            ("softmax", Dtype.FLOAT16, "large"),
            ("matmul", Dtype.FLOAT16, "large"),
        ]
        chosen += [
            ("gelu", Dtype.FLOAT32, "small"),
            ("matmul", Dtype.BFLOAT16, "small"),
        ]
    session = empty_session(ceilings=ceilings)
    for number, (kernel, dtype, preset) in enumerate(chosen, start=1):
        a_job = job(kernel, dtype, preset, f"job-{number}")
        for implementation in a_job.implementations:
            outcome = _outcome(implementation, a_job)
            point = Point(len(session.points) + 1, a_job, implementation, outcome, RECORDED_AT)
            session.points = (*session.points, point)
    return session


def write_session(session: Session, path: Path) -> Path:
    """The session as a file."""
    with SessionStore.create(path) as store:
        assert session.environment is not None
        assert session.device is not None
        store.add_environment(session.environment, session.device.id)
        for spec in session.specs.values():
            store.add_kernel(spec)
        for ceiling in session.ceilings:
            store.add_ceiling(ceiling)
        for point in session.points:
            store.add_outcome(point.job, point.implementation, point.outcome)
    return path
