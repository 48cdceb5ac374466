"""INVENTED TEST DATA: a session with points that autotuners chose a configuration for. Nothing was measured.

For tests and for looking at views; the reasons are of the kinds that Triton gives.
"""

from pathlib import Path

from msgspec.structs import replace

from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.time_stats import TimeStats
from roofscope.profiling.results.tuning import Configuration, LeftOut, RunnerUp, Tuning
from roofscope.tests import sessions

_ROUNDS = tuple(range(20))


def _config(m: int, n: int, warps: int, stages: int, *, hook: str = "", **state: object) -> Configuration:
    options = (("BLOCK_M", str(m)), ("BLOCK_N", str(n)), ("GROUP_M", "8"))
    made = Configuration(options, warps, stages, 1, None, hook)
    return replace(made, **state)


def configurations(best_s: float) -> tuple[Configuration, ...]:
    """As a product of matrices has them: five timed, five left out for as many reasons."""
    return (
        _config(128, 128, 4, 4, seconds=1.041 * best_s),
        _config(128, 256, 8, 3, seconds=best_s),
        _config(256, 128, 8, 3, seconds=1.004 * best_s),
        _config(64, 128, 4, 4, seconds=1.38 * best_s),
        _config(64, 64, 4, 4, seconds=2.21 * best_s),
        _config(
            256, 256, 8, 4,
            left_out=LeftOut.RESOURCES, reason="shared memory: 262176 needed, 232448 there",
        ),
        _config(16, 16, 4, 4, left_out=LeftOut.PRUNED, reason="by worth_trying"),
        _config(32, 32, 4, 4, left_out=LeftOut.MODEL),
        _config(512, 64, 8, 4, left_out=LeftOut.COMPILE_ERROR, reason="line 31 of the kernel: too large"),
        _config(128, 512, 8, 3, hook="set_blocks", left_out=LeftOut.FAILED, reason="a \\x1b[31mhook\\x1b[0m"),
    )  # fmt: skip


def time_of(median_s: float, wobble: float = 0.002) -> TimeStats:
    """Twenty rounds about a median, the same pattern for all: ratios within rounds are near constant."""
    pattern = (-2, 1, 0, 2, -1, 1, -1, 0, 2, -2, 1, 0, -1, 2, -2, 0, 1, -1, 2, 0)
    samples = tuple(median_s * (1 + wobble * step / 2) for step in pattern)
    return TimeStats(median_s, median_s * (1 - wobble), median_s * (1 + wobble), samples, 8, _ROUNDS)


KEY = ("M=8192", "N=8192", "K=8192", "torch.bfloat16")


def tuned(
    measured: Measured,
    runner_up: float | None = 1.003,
    missing: str = "",
    kernel: str = "matmul_kernel",
    key: tuple[str, ...] = KEY,
) -> Measured:
    """A measured outcome that was tuned. ``runner_up``: its time over the winner's; None: it has none."""
    median_s = measured.time.median_s
    second = None
    if runner_up is not None:
        drift = 0.006 if abs(runner_up - 1) < 0.01 else 0.001  # near equals swing more than they differ
        time = time_of(runner_up * median_s)
        swung = tuple(s * (1 + drift * (-1) ** at) for at, s in enumerate(time.samples_s))
        second = RunnerUp(2, replace(time, samples_s=swung))
    elif missing:
        second = RunnerUp(2, missing=missing)
    tuning = Tuning(
        kernel,
        key,
        configurations(0.97 * median_s),
        winner=1,
        tuning_s=4.31,
        runner_up=second,
    )
    return replace(measured, time=time_of(median_s), tunings=(tuning,))


def tuned_session() -> Session:
    """That of ``sessions``, its Triton products tuned: one whose choice holds, one that noise chose."""
    session = sessions.make_session()
    session.points = tuple(map(_tuned_point, session.points))
    return session


def _tuned_point(point: Point) -> Point:
    ratios = {("matmul", "bfloat16"): 1.003, ("gelu", "float32"): 0.968, ("softmax", "bfloat16"): 1.12}
    ratio = ratios.get((point.job.workload.kernel, str(point.job.workload.dtype)))
    if ratio is None or point.measured is None or point.implementation.stem.partition("_")[0] != "triton":
        return point
    workload = point.job.workload
    key = tuple(f"{name}={size}" for name, size in workload.sizes.items())
    outcome = tuned(point.measured, ratio, "", f"_{workload.kernel}", (*key, f"torch.{workload.dtype}"))
    return replace(point, outcome=outcome)


def write_tuned(path: Path) -> Path:
    """The session as a file."""
    return sessions.write_session(tuned_session(), path)
