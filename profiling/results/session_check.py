"""Whether values read from a session are possible: a damaged or hostile file must not reach a view.

JSON has no infinity, and the structs' types are checked when they are decoded. What remains are times that
are not positive, lists that are empty or of unequal lengths, counts without bound, and dates that are none.
"""

from collections.abc import Iterable
from datetime import datetime

from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import KernelSpec
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.marks import Mark, why_unfit
from roofscope.profiling.results.outcome import Measured, Outcome, TimeStats
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.roofline.roofline import Ceiling

LEAST_S, MOST_S = 1e-12, 1e9
MOST = 1e24  # of a rate, a count of FLOPs or bytes, a clock
LONGEST_DATE = 40


class Impossible(ValueError):
    """A value that no measurement gives; the text says which."""


def check_date(text: str) -> str:
    """ISO 8601 with its zone, as ``timestamp`` writes it."""
    try:
        if len(text) <= LONGEST_DATE and datetime.fromisoformat(text).tzinfo:
            return text
    except ValueError:
        pass
    raise Impossible(f"{text[:LONGEST_DATE]!r} is no date")


def check_counters(counters: Counters) -> Counters:
    sums = (counters.dram_read_bytes, counters.dram_write_bytes, counters.l2_bytes, counters.l1_bytes)
    _check_range("counters", sums, 0, MOST)
    for kernel in counters.kernels:
        moved = (kernel.dram_read_bytes, kernel.dram_write_bytes, kernel.l2_bytes, kernel.l1_bytes)
        counts = (*kernel.flops.values(), *kernel.tensor_instructions.values())
        _check_range("counters of a kernel", (*moved, *counts, kernel.occupancy), 0, MOST)
    return counters


def check_outcome(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Measured):
        _check_measured(outcome)
    return outcome


def _check_measured(measured: Measured) -> None:
    _check_time("time", measured.time)
    if measured.hot:
        _check_time("hot", measured.hot)
    _check_seconds("host_s", (measured.host_s,))
    _check_range("calls_s", measured.calls_s, 0, MOST_S)
    for kernel in measured.kernels:
        _check_range(f"kernel {kernel.name[:40]}", (kernel.calls, kernel.total_s), 0, MOST_S)
    if energy := measured.energy:
        _check_range("energy", (energy.joules_per_call, energy.integrated_joules_per_call), 0, MOST)
        _check_seconds("energy.duration_s", (energy.duration_s,))
        _check_range("energy.calls", (energy.calls,), 1, MOST)
    if elasticity := measured.clock_elasticity:
        _check_range("elasticity", (elasticity.value, elasticity.low, elasticity.high), -MOST, MOST)
        _check_range("elasticity's clocks", (elasticity.clock_low_hz, elasticity.clock_high_hz), 1, MOST)
    if profiled := measured.profiled:
        _check_seconds("profiled", (profiled.seconds,))
        _check_range("profiled.clock_ratio", (profiled.clock_ratio,), 1e-6, 1e6)
    evidence = measured.evidence
    clocks = (evidence.clock_hz, evidence.clock_low_hz, evidence.clock_high_hz, evidence.fresh_hz)
    _check_range("evidence's clocks", (*clocks, evidence.memory_clock_hz), 0, MOST)
    _check_range("power_w", (evidence.power_w,), 0, MOST)
    _check_range("temperature_c", (evidence.temperature_c,), -300, 1e6)
    _check_range("launch_floor_s", (evidence.launch_floor_s,), 0, MOST_S)
    _check_range("build.compile_s", (measured.build.compile_s,), 0, MOST_S)
    _check_range("rotated_bytes", (measured.rotated_bytes,), 0, MOST)
    if memory := measured.memory:
        _check_range("memory", (memory.peak_bytes, memory.output_bytes), 0, MOST)
    for tuning in measured.tunings:
        if tuning.runner_up and tuning.runner_up.time:
            _check_time("runner-up", tuning.runner_up.time)
    errors = measured.verification
    _check_range("relative_error", (errors.relative_error, errors.large_relative_error), 0, MOST)
    _check_range("tolerance", (errors.tolerance, errors.worst_part), 0, MOST)


def _check_time(name: str, time: TimeStats) -> None:
    if not time.samples_s:
        raise Impossible(f"{name} has no samples")
    _check_seconds(name, (time.median_s, time.low_s, time.high_s))
    _check_seconds(f"{name}'s samples", time.samples_s)
    if time.low_s is not None and time.high_s is not None and time.low_s > time.high_s:
        raise Impossible(f"{name} has an interval whose ends are the wrong way round")
    for values in (time.rounds, time.clocks_hz):
        if values and len(values) != len(time.samples_s):
            raise Impossible(f"{name} has {len(values)} values beside {len(time.samples_s)} samples")
    _check_range(f"{name}'s clocks", (*time.clocks_hz, time.reference_hz), 1, MOST)
    _check_range(f"{name}.calls_per_block", (time.calls_per_block,), 1, MOST)


def check_job(job: Job) -> Job:
    work = job.work
    _check_range("work", (work.flop_count, work.read_bytes, work.write_bytes), 0, MOST)
    _check_range("sizes", job.workload.sizes.values(), 0, MOST)
    return job


def check_ceiling(ceiling: Ceiling) -> Ceiling:
    _check_range("value", (ceiling.value,), 1, MOST)
    _check_range("clock_hz", (ceiling.clock_hz,), 1, MOST)
    check_date(ceiling.recorded_at)
    return ceiling


def check_spec(spec: KernelSpec) -> KernelSpec:
    tolerance = spec.tolerance
    _check_range("tolerance", (tolerance.float32, tolerance.float16, tolerance.bfloat16), 0, MOST)
    _check_range("large_magnitude", (spec.large_magnitude,), 0, MOST)
    return spec


def check_environment(environment: Environment) -> Environment:
    for device in environment.devices:
        sizes = (device.memory_bytes, device.last_level_cache_bytes, device.bus_width_bits)
        _check_range("sizes of a device", sizes, 0, MOST)
        _check_range("counts of a device", (device.core_count, device.multiprocessor_count), 0, MOST)
        clocks = (device.max_clock_hz, device.max_memory_clock_hz, device.application_clock_hz)
        _check_range("clocks of a device", (*clocks, device.application_memory_clock_hz), 0, MOST)
        _check_range("power_limit_w", (device.power_limit_w,), 0, MOST)
    return environment


def check_mark(mark: Mark) -> Mark:
    if why := why_unfit(mark):
        raise Impossible(why)
    for date in (mark.pinned_at, mark.deleted_at):
        if date is not None:
            check_date(date)
    return mark


def check_proof(proof: Proof) -> Proof:
    for row in proof.rows:
        if len(row.values) > len(proof.columns):
            raise Impossible(f"a row of {len(row.values)} figures under {len(proof.columns)} columns")
    _check_range("duration_s", (proof.duration_s,), 0, MOST_S)
    return proof


def _check_seconds(name: str, values: Iterable[float | None]) -> None:
    _check_range(name, values, LEAST_S, MOST_S)


def _check_range(name: str, values: Iterable[float | None], least: float, most: float) -> None:
    known = [value for value in values if value is not None]
    if known and not (least <= min(known) and max(known) <= most):
        raise Impossible(f"{name} is not between {least:g} and {most:g}")
