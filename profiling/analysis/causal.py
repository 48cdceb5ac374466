"""Whether a call's time follows the SM clock: the one cause that a device varies by itself.

A call that the cores bind takes the same cycles at any clock, so its time falls as the clock rises; one that
waits for DRAM or for a fixed time takes the same seconds. Rests, heat and the power cap move the clock. Pure
arithmetic; docs/measuring.md has the proof on kernels of known mix.
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from roofscope.profiling.results.outcome import ClockElasticity

LEAST_SPREAD = 0.04  # of the clock: below, noise of 0.3 % in the times says more than the clock does
LEAST_CYCLES = 3
LEAST_BLOCKS = 12
CORE_BOUND_FROM = 0.8
MEMORY_BOUND_TO = 0.2

_TUNING = 4.685  # Tukey's biweight: 95 % as efficient as least squares where the noise is normal
_MAD_TO_SIGMA = 1.4826
_LEAST_SIGMA = 1e-6  # of the logarithm of a time: the resolution of an event over a block
_ITERATIONS = 20
_Z95 = 1.959964


class ClockBlock(NamedTuple):
    """One block of calls: its cycle of clock steps, its in-band SM clock, its seconds a call."""

    cycle: int
    clock_hz: float
    seconds: float


class _Line(NamedTuple):
    """ln(time) = level of the cycle + slope * ln(clock), by weighted least squares."""

    slope: float
    clocks: list[float]  # logarithms, less the mean of the cycle
    residuals: list[float]


def clock_elasticity(blocks: Sequence[ClockBlock]) -> ClockElasticity | str:
    """-d ln(time) / d ln(clock) over the blocks of several cycles, or one sentence on why there is none.

    Each cycle has its own level, so that what changes slowly, such as temperature, cancels. The line is
    fitted by Tukey's biweight, to which a few disturbed blocks do not matter. The half-width is Student's t
    times the larger of two standard errors: one takes blocks to be independent, the other only cycles.
    """
    cycles = {block.cycle for block in blocks}
    if len(blocks) < LEAST_BLOCKS or len(cycles) < LEAST_CYCLES:
        return (
            f"Only {len(blocks)} blocks in {len(cycles)} rounds of clock steps were timed; "
            f"{LEAST_BLOCKS} in {LEAST_CYCLES} are needed."
        )
    ordered = sorted(block.clock_hz for block in blocks)
    # Without the outermost two: a single block at another clock would decide alone.
    spread = (ordered[-2] - ordered[1]) / statistics.median(ordered)
    if spread < LEAST_SPREAD:
        return (
            f"The clock moved by {100 * spread:.1f} % only, whatever was done to heat the device; "
            f"{100 * LEAST_SPREAD:.0f} % are needed."
        )
    weights = [1.0] * len(blocks)
    line = _fit(blocks, weights)
    for _ in range(_ITERATIONS):
        weights = _weights(line.residuals)
        line = _fit(blocks, weights)
    half = student_t95(len(cycles) - 1) * _standard_error(blocks, weights, line)
    if not math.isfinite(half):
        return "The times of the blocks scatter so much that no line fits them."
    value = -line.slope
    return ClockElasticity(value, value - half, value + half, ordered[0], ordered[-1], len(blocks))


def student_t95(degrees: int) -> float:
    """Two-sided 95 % quantile of Student's t, from two degrees on within 4 % (Cornish and Fisher 1937)."""
    z, n = _Z95, degrees
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )


def _fit(blocks: Sequence[ClockBlock], weights: Sequence[float]) -> _Line:
    clocks = _centred([math.log(block.clock_hz) for block in blocks], blocks, weights)
    times = _centred([math.log(block.seconds) for block in blocks], blocks, weights)
    across = math.fsum(w * x * y for w, x, y in zip(weights, clocks, times, strict=True))
    along = math.fsum(w * x * x for w, x in zip(weights, clocks, strict=True))
    slope = across / along
    return _Line(slope, clocks, [y - slope * x for x, y in zip(clocks, times, strict=True)])


def _centred(values: Sequence[float], blocks: Sequence[ClockBlock], weights: Sequence[float]) -> list[float]:
    """Values less the weighted mean of their cycle."""
    sums: dict[int, tuple[float, float]] = {}
    for value, block, weight in zip(values, blocks, weights, strict=True):
        total, share = sums.get(block.cycle, (0.0, 0.0))
        sums[block.cycle] = total + weight * value, share + weight
    means = {cycle: total / share if share else 0.0 for cycle, (total, share) in sums.items()}
    return [value - means[block.cycle] for value, block in zip(values, blocks, strict=True)]


def _shares(residuals: Sequence[float]) -> list[float]:
    """Residuals over the distance from which on a block counts for nothing."""
    sigma = max(_MAD_TO_SIGMA * statistics.median(map(abs, residuals)), _LEAST_SIGMA)
    return [residual / (_TUNING * sigma) for residual in residuals]


def _weights(residuals: Sequence[float]) -> list[float]:
    return [(1 - share * share) ** 2 if abs(share) < 1 else 0.0 for share in _shares(residuals)]


def _standard_error(blocks: Sequence[ClockBlock], weights: Sequence[float], line: _Line) -> float:
    """Of the slope: the larger of that of independent blocks and that of independent cycles.

    Both are Huber's of an M-estimator (1973), whose curvature is the derivative of weight times residual.
    """
    curves = [
        (1 - share * share) * (1 - 5 * share * share) if abs(share) < 1 else 0.0
        for share in _shares(line.residuals)
    ]
    along = math.fsum(curve * x * x for curve, x in zip(curves, line.clocks, strict=True))
    by_cycle: dict[int, list[float]] = {}
    for block, weight, clock, residual in zip(blocks, weights, line.clocks, line.residuals, strict=True):
        by_cycle.setdefault(block.cycle, []).append(weight * clock * residual)
    cycles, count = len(by_cycle), sum(weight > 0 for weight in weights)
    freedom = count / max(count - cycles - 1, 1)
    of_blocks = freedom * math.fsum(score * score for scores in by_cycle.values() for score in scores)
    of_cycles = cycles / (cycles - 1) * math.fsum(math.fsum(scores) ** 2 for scores in by_cycle.values())
    return math.sqrt(max(of_blocks, of_cycles)) / along if along > 0 else math.inf
