"""What keeps a call from its roof, as far as its measurement proves it: causes, each with its figure."""

import math
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from roofscope.profiling.analysis.causal import CORE_BOUND_FROM, MEMORY_BOUND_TO
from roofscope.profiling.analysis.occupancy import WARP, limits_of
from roofscope.profiling.devices.device import CACHE_LAPS, Device
from roofscope.profiling.planning.spec import Work
from roofscope.profiling.results.outcome import Measured, Method, ProfiledKernel
from roofscope.profiling.roofline.roofline import Roof

NEAR_ROOF = 0.6  # of a roof, from which on it may be said to limit a call

# An empty kernel takes this long in a graph on GPUs of 2020 to 2025, where a session says nothing of its own.
USUAL_FLOOR_S = 1.2e-6
_MUCH_OF_TIME = 0.3
_GAPS = 0.2
_SEVERAL = 1.5  # kernels a call, as the flag counts them
_MOST_OF_SUM = 0.75  # of its kernels' time, from which on one kernel is the call
_CLOCK_BELOW = 0.97
_COLDER = 1.5  # a third of the time is then the wait for DRAM
_AS_HOT = 0.05  # of the time, below which DRAM's part may be neglected
_SURELY_CACHED = 0.5  # of the last-level cache, which is in two halves on some GPUs
LEAST_DOUBLES = 4  # instructions; a constant in double may cost one
_SPILLED_BYTES = 32  # a thread
_BUSY = 0.75
_LEAST_BYTES = 1.0  # a thread; no element of a tensor is shorter
_LEAST_FLOPS = 16.0  # a thread; below, its bytes are its work
_SHARP = 0.15  # half-width of an elasticity that may decide
_POWER_CAP = "power cap"

_MOST_THREADS = 2048  # of a multiprocessor, where nothing else is known here


class Cause(StrEnum):
    """What may limit a call below its roofs, in the order of proof: the first that decides is named."""

    LAUNCHES = "launches"  # figure: share of the time that empty launches would take; other: one, in seconds
    GAPS = "gaps"  # share of the time between its kernels; other: how many there are
    KERNELS = "kernels"  # how many there are; other: share of the longest in their sum
    POWER = "power cap"  # share of the roof at the clock held; other: that clock
    CLOCK = "clock"  # the same without a power cap
    NOT_CORE = "time does not follow the clock"  # elasticity
    COLD = "cold against hot"  # time with cold caches over time with hot ones
    LITTLE_WORK = "little work a block"  # compulsory bytes a block; other: blocks
    DOUBLE = "double arithmetic"  # instructions
    SPILLS = "spills"  # bytes a thread
    WAVES = "partial waves"  # share of the multiprocessors' time that has blocks; other: blocks
    TRAFFIC = "traffic that came back"  # bytes that DRAM could have moved over the compulsory ones
    CORE = "time follows the clock"  # elasticity
    MIX = "time follows the clock in part"  # elasticity
    AS_HOT = "as fast cold as hot"  # share of the time that cold caches cost


class Finding(Struct, frozen=True):
    """Evidence of the limiter: one cause and the figure that proves it, in the unit that Cause gives."""

    cause: Cause
    figure: float
    other: float | None = None
    decides: bool = True  # False: too little to name the limiter, or not by itself


def evidence_of(measured: Measured, work: Work, roof: Roof, device: Device | None) -> tuple[Finding, ...]:
    """All that the measurement says, in the order of proof."""
    found = [
        *_launches(measured),
        *_kernels(measured, roof),
        *_clock(measured, roof),
        *_elasticity(measured, roof),
        *_cold_and_hot(measured, work, device),
        *_code(measured),
        *_little_work(measured, work, device),
        *_waves(measured, device),
    ]
    order = list(Cause)
    return tuple(sorted(found, key=lambda evidence: order.index(evidence.cause)))


def wave_efficiency(blocks: int, threads: int, occupancy: float | None, device: Device) -> float | None:
    """The share of the multiprocessors' time that has blocks, if all blocks take equally long.

    None where it is not known: a grid that is resident all at once may share multiprocessors unevenly.
    """
    multiprocessors = device.multiprocessor_count
    if not multiprocessors:
        return None
    if blocks <= multiprocessors:
        return blocks / multiprocessors
    if not occupancy:
        return None
    resident = max(1, round(occupancy * most_threads(device) / threads))
    waves = blocks / (multiprocessors * resident)
    return waves / math.ceil(waves) if waves > 1 else None


def most_threads(device: Device) -> int:
    """That a multiprocessor of this device holds at once."""
    limits = limits_of(device.compute_capability)
    return limits.warps * WARP if limits else _MOST_THREADS


def _launches(measured: Measured) -> Iterator[Finding]:
    if measured.method is not Method.CUDA_GRAPH:
        return
    floor_s = measured.evidence.launch_floor_s or USUAL_FLOOR_S
    share = max(_count(measured), 1.0) * floor_s / measured.time.median_s
    if share >= _MUCH_OF_TIME / 3:
        yield Finding(Cause.LAUNCHES, min(share, 1.0), floor_s, decides=share >= _MUCH_OF_TIME)


def _kernels(measured: Measured, roof: Roof) -> Iterator[Finding]:
    """Gaps between kernels; and without gaps, that what lies between them passes through memory."""
    count, sum_s = _count(measured), measured.kernel_sum_s
    if count <= _SEVERAL or not sum_s:
        return
    gaps = 1 - sum_s / measured.time.median_s
    if gaps >= _GAPS / 2:
        yield Finding(Cause.GAPS, gaps, count, decides=gaps >= _GAPS)
    longest = max(kernel.total_s / max(kernel.calls, 1.0) for kernel in measured.kernels) / sum_s
    is_passed_on = roof.ceiling.bound.is_memory and longest < _MOST_OF_SUM
    yield Finding(Cause.KERNELS, count, longest, decides=is_passed_on)


def _clock(measured: Measured, roof: Roof) -> Iterator[Finding]:
    """A pipe at a lower clock than its ceiling was measured at; DRAM has a clock of its own."""
    held_hz, ceiling_hz = measured.evidence.clock_hz, roof.ceiling.clock_hz
    held = roof.at_clock(held_hz)
    if roof.ceiling.bound.is_memory or held is None or not held_hz or not ceiling_hz:
        return
    if held_hz >= _CLOCK_BELOW * ceiling_hz:
        return
    share = held.least_time_s / measured.time.median_s
    is_capped = _POWER_CAP in (measured.evidence.event_reasons or ())
    cause = Cause.POWER if is_capped else Cause.CLOCK
    yield Finding(cause, share, held_hz, decides=share >= NEAR_ROOF)


def _elasticity(measured: Measured, roof: Roof) -> Iterator[Finding]:
    found = measured.clock_elasticity
    if found is None:
        return
    is_sharp = (found.high - found.low) / 2 <= _SHARP
    if found.value >= CORE_BOUND_FROM:
        yield Finding(Cause.CORE, found.value, decides=is_sharp)
    elif found.value > MEMORY_BOUND_TO:
        yield Finding(Cause.MIX, found.value, decides=is_sharp)
    else:
        yield Finding(Cause.NOT_CORE, found.value, decides=is_sharp)
        if roof.ceiling.bound.is_memory:
            # Nothing tells bytes that were fetched again from those that were waited for.
            times = measured.time.median_s / roof.least_time_s
            yield Finding(Cause.TRAFFIC, times, decides=False)


def _cold_and_hot(measured: Measured, work: Work, device: Device | None) -> Iterator[Finding]:
    if measured.hot is None:
        return
    times = measured.time.median_s / measured.hot.median_s
    cost = 1 - 1 / times
    cache_bytes = (device.last_level_cache_bytes or 0) if device else 0
    elasticity = measured.clock_elasticity
    is_core = elasticity is not None and elasticity.value >= CORE_BOUND_FROM
    if cost > _AS_HOT:
        yield Finding(Cause.COLD, times, decides=times >= _COLDER and not is_core)
    elif _were_cold(measured, work, cache_bytes) and work.byte_count <= _SURELY_CACHED * cache_bytes:
        yield Finding(Cause.AS_HOT, max(cost, 0.0))


def _were_cold(measured: Measured, work: Work, cache_bytes: int) -> bool:
    """Whether so much was rotated through that calls found nothing: else warm is compared with hot.

    Older sessions do not say what was rotated; they had 256 sets at most.
    """
    rotated = measured.rotated_bytes
    return (256 * work.byte_count if rotated is None else rotated) >= CACHE_LAPS * cache_bytes


def _code(measured: Measured) -> Iterator[Finding]:
    doubles, spilled = measured.build.double_instructions, measured.build.spill_bytes
    if doubles:
        yield Finding(Cause.DOUBLE, doubles, decides=doubles >= LEAST_DOUBLES)
    if spilled:
        yield Finding(Cause.SPILLS, spilled, decides=spilled >= _SPILLED_BYTES)


def _waves(measured: Measured, device: Device | None) -> Iterator[Finding]:
    kernel = longest_kernel(measured)
    if kernel is None or kernel.launch is None or device is None:
        return
    launch = kernel.launch
    busy = wave_efficiency(launch.blocks, launch.threads, launch.occupancy, device)
    if busy is not None and busy < 0.9:
        yield Finding(Cause.WAVES, busy, launch.blocks, decides=busy <= _BUSY)


def _little_work(measured: Measured, work: Work, device: Device | None) -> Iterator[Finding]:
    """More blocks than fit at once, most of whose threads have neither a byte to move nor a sum to do."""
    kernel = longest_kernel(measured)
    if kernel is None or kernel.launch is None or device is None or _count(measured) > _SEVERAL:
        return
    blocks, threads = kernel.launch.blocks, kernel.launch.blocks * kernel.launch.threads
    if threads <= (device.multiprocessor_count or 0) * most_threads(device):
        return
    if work.byte_count < _LEAST_BYTES * threads and work.flop_count < _LEAST_FLOPS * threads:
        yield Finding(Cause.LITTLE_WORK, work.byte_count / blocks, blocks)


def longest_kernel(measured: Measured) -> ProfiledKernel | None:
    """Of a call, in time; None without a profile."""
    return max(measured.kernels, key=lambda kernel: kernel.total_s, default=None)


def _count(measured: Measured) -> float:
    return sum(kernel.calls for kernel in measured.kernels)
