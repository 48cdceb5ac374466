"""What a measurement was like: its time, what the device did meanwhile, and what a call costs in energy."""

import math
import statistics

from roofscope.app.presentation.comparison import speed_up_origin, speed_up_text
from roofscope.app.presentation.fact import Fact, Gauge, Section, section
from roofscope.app.presentation.formatting import (
    clock_range_text,
    clock_text,
    count_text,
    energy_text,
    memory_text,
    per_joule_text,
    percent_text,
    power_text,
    ratio_text,
    spread_text,
    spread_time_text,
    temperature_text,
    time_text,
)
from roofscope.app.presentation.point_row import PointRow
from roofscope.profiling.analysis.agreement import is_longer
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.analysis.statistics import INTERVAL_NOTE, Interval, unstable_because
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.results.outcome import Evidence, Flag, Measured, Method, TimeStats

_HOTTEST_C = 100.0  # end of the temperature's scale
_SAME_CLOCK = 0.005  # less is jitter
_AT_CLOCK = "The clock that the time is given at, in band; where it moved, blocks were brought to this one"
_ALIKE = 0.02  # hot and cold within this need no factor
_SEVERAL = 1.5  # kernels a call, as the verdict counts them


def time_section(row: PointRow, measured: Measured, device: Device | None) -> Section:
    time = measured.time
    speed_up = row.speed_up
    return section(
        "Time",
        Fact(
            "Time of a call" if measured.method is Method.WALL_CLOCK else "Device time",
            spread_time_text(time.median_s, time.bounds_s, len(time.samples_s)),
            "Median over the blocks, caches cold",
        ),
        Fact("95 % interval", _interval(time), INTERVAL_NOTE),
        Fact("At a clock of", clock_text(time.reference_hz) if time.reference_hz else "", _AT_CLOCK),
        Fact("Unstable", unstable_text(measured), "Its numbers are shown all the same"),
        Fact(
            "Speed-up",
            _speed_up_text(speed_up) if speed_up else "",
            f"{speed_up_origin(speed_up)} {INTERVAL_NOTE}" if speed_up else "",
        ),
        Fact("Rotated", _rotated(measured, device), "Data of all buffer sets that the calls took in turn"),
        Fact("Hot cache", _hot(row, measured, device), "On one buffer set, some of which the cache may hold"),
        Fact("From the host", _host(measured), "Wall time a call, Python and launch included"),
        *_profiler(measured),
        Fact("Single calls", _calls(measured), "By events inside a graph; their spread, not the headline"),
        Fact(
            "Blocks",
            f"{count_text(len(time.samples_s))} of {_calls_a_block(time.calls_per_block)}",
            "Blocks timed, and calls in each",
        ),
        Fact("Left out", discards_text(measured), "For a cause that has a name, never for their value"),
        Fact("Method", str(measured.method), measured.method_reason),
        Fact("Fallback", measured.method_reason),
        Fact(
            "Sealed",
            sealed_text(measured),
            "Whether the number rests on nothing that foreign code could reach",
        ),
        Fact("Flags", ", ".join(row.verdict.flags)),
    )


def sealed_text(measured: Measured) -> str:
    """``yes``, or what rests on the word of the process that ran the implementation; "" of older sessions."""
    if measured.unsealed_because is None:
        return ""
    return f"not quite: {'; '.join(measured.unsealed_because)}" if measured.unsealed_because else "yes"


def _speed_up_text(speed_up: SpeedUp) -> str:
    if speed_up.is_baseline:
        return speed_up_text(speed_up)
    return f"over {speed_up.baseline.implementation.label}: {speed_up_text(speed_up)}"


def unstable_text(measured: Measured) -> str:
    """Why the numbers are to be taken with care; "" when they are not."""
    time = measured.time
    faults = sum(discard.blocks for discard in measured.discards if discard.is_fault)
    others = sum(discard.blocks for discard in measured.discards if not discard.is_fault)
    blocks, held_by = len(time.samples_s), measured.evidence.held_by
    if time.bounds_s is None:
        return unstable_because(Interval(time.median_s, 0.0, math.inf), blocks, faults, held_by) or ""
    return unstable_because(Interval(time.median_s, *time.bounds_s), blocks + others, faults, held_by) or ""


def _interval(time: TimeStats) -> str:
    if time.bounds_s is None:
        return spread_text(time.median_s, None, len(time.samples_s))
    low_s, high_s = time.bounds_s
    return f"{time_text(low_s)} to {time_text(high_s)}"


def discards_text(measured: Measured) -> str:
    return ", ".join(f"{count_text(discard.blocks)} × {discard.cause}" for discard in measured.discards)


def device_section(measured: Measured, device: Device | None) -> Section:
    """Bars from nothing to what the device can do, and why its clock was held down."""
    evidence = measured.evidence
    return section(
        "Device during the run",
        Fact(
            "Other work",
            f"had a core in {percent_text(evidence.preempted)} of the slices" if evidence.preempted else "",
            "Slices of a block, about 1 ms each, in which threads waited for a core; they are left out",
        ),
        Fact("Clock held by", _held_by(evidence, device), "What the driver said meanwhile"),
        Fact("Fresh clock", _fresh(evidence), "What it was after the rest that each block takes"),
        gauges=tuple(_gauges(evidence, device)),
    )


def energy_section(row: PointRow, measured: Measured) -> Section:
    energy, work = measured.energy, row.point.job.work
    if energy is None:
        return section("Energy")
    joules, checked = energy.joules_per_call, energy.integrated_joules_per_call
    return section(
        "Energy",
        Fact("A call", energy_text(joules), "Of the whole board at steady load, idle power included"),
        Fact("Arithmetic", per_joule_text(work.flop_count / joules, "FLOP") if work.flop_count else ""),
        Fact("Traffic", per_joule_text(work.byte_count / joules, "B"), "Compulsory bytes"),
        Fact("Power", power_text(joules * energy.calls / energy.duration_s), "Energy over time"),
        Fact(
            "Check",
            f"{energy_text(checked)} ({_difference(checked / joules - 1)})" if checked else "",
            "The same from power samples; the board's energy counter is the headline",
        ),
    )


def _rotated(measured: Measured, device: Device | None) -> str:
    """``96.0 MiB, 3.0× the cache``; what older sessions do not say stays empty."""
    rotated = measured.rotated_bytes
    if rotated is None:
        return ""
    cache_bytes = device.last_level_cache_bytes if device else None
    laps = f", {ratio_text(rotated / cache_bytes)} the cache" if cache_bytes else ""
    warm = ": partly warm, because fewer than 3 leave some of it there"
    return f"{memory_text(rotated)}{laps}{warm if Flag.PARTLY_WARM in measured.flags else ''}"


def _hot(row: PointRow, measured: Measured, device: Device | None) -> str:
    if measured.hot is None:
        byte_count = row.point.job.work.byte_count
        drives_out = device and device.kind is DeviceKind.CUDA and not device.may_keep(byte_count)
        return "as cold: too large for the cache" if drives_out else ""
    hot_s = measured.hot.median_s
    ratio = measured.time.median_s / hot_s
    return (
        f"{time_text(hot_s)}, {'as cold' if abs(ratio - 1) < _ALIKE else f'cold takes {ratio_text(ratio)}'}"
    )


def _host(measured: Measured) -> str:
    if measured.host_s is None:
        return ""
    beyond_s = measured.host_s - measured.time.median_s
    more = f", {time_text(beyond_s)} beyond the device" if beyond_s > 0 else ""
    return f"{time_text(measured.host_s)}{more}"


def _profiler(measured: Measured) -> tuple[Fact, ...]:
    """One kernel a call: CUPTI's time against ours. Several: their sum, and the gaps between them."""
    sum_s, span_s = measured.kernel_sum_s, measured.time.median_s
    if sum_s is None:
        return ()
    launches = sum(kernel.calls for kernel in measured.kernels)
    if launches <= _SEVERAL:
        text = f"{time_text(sum_s)} ({_difference(sum_s / span_s - 1)})"
        tip = "The kernel's time as CUPTI gives it, against the device time"
        profiled = measured.profiled
        if profiled and is_longer(profiled.seconds, span_s):
            tip += f". The profiler slows this kernel: {time_text(profiled.seconds)} while it records"
        return (Fact("Profiler", text, tip),)
    gap_s = span_s - sum_s
    gaps = f"{time_text(gap_s)}, {percent_text(gap_s / span_s)} of the time" if gap_s > 0 else "none"
    tip = "Device time of a call less the sum of its kernels, from the profiler"
    return (
        Fact("Kernels' sum", f"{time_text(sum_s)} in {launches:g} kernels", "From the profiler"),
        Fact("Gaps between", gaps, tip),
    )


def _calls(measured: Measured) -> str:
    if len(measured.calls_s) < 2:
        return ""
    ordered = sorted(measured.calls_s)
    low, high = ordered[len(ordered) // 20], ordered[-1 - len(ordered) // 20]
    middle = time_text(statistics.median(ordered))
    return f"{middle}, nine in ten {time_text(low)} to {time_text(high)}"


def _calls_a_block(count: int) -> str:
    return "1 call" if count == 1 else f"{count_text(count)} calls"


def _difference(share: float) -> str:
    return f"{'+' if share >= 0 else '−'}{percent_text(abs(share))}"


def _held_by(evidence: Evidence, device: Device | None) -> str:
    """Only a GPU's driver gives reasons, and not each one does."""
    if evidence.event_reasons is None:
        return "unknown: the driver does not say" if device and device.kind is DeviceKind.CUDA else ""
    if reasons := [reason for reason in evidence.event_reasons if reason != "idle"]:
        return ", ".join(reasons)
    return "nothing" if device and device.kind is DeviceKind.CUDA else ""


def _fresh(evidence: Evidence) -> str:
    if not evidence.fresh_hz or not evidence.clock_hz:
        return ""
    above = evidence.fresh_hz / evidence.clock_hz - 1
    text = clock_text(evidence.fresh_hz)
    return f"{text}, {percent_text(above)} above that of the blocks" if above >= _SAME_CLOCK else text


def _gauges(evidence: Evidence, device: Device | None) -> list[Gauge]:
    found: list[Gauge] = []

    def add(name: str, text: str, values: tuple[float, float, float], limit: float | None, tip: str) -> None:
        low, middle, high = (value / (limit or max(values)) for value in values)
        found.append(Gauge(name, text, low, middle, high, tip))

    if hz := evidence.clock_hz:
        low, high = evidence.clock_low_hz or hz, evidence.clock_high_hz or hz
        text = clock_range_text(hz, low, high)
        limit = device.max_clock_hz if device else None
        add("Clock", text, (low, hz, high), limit, f"Median, slowest and fastest block{_most(limit)}")
    if hz := evidence.memory_clock_hz:
        limit = device.max_memory_clock_hz if device else None
        add("Memory clock", clock_text(hz), (0.0, hz, hz), limit, f"Median of the blocks{_most(limit)}")
    if watts := evidence.power_w:
        limit = device.power_limit_w if device else None
        text = f"{power_text(watts)} of {power_text(limit)}" if limit else power_text(watts)
        add("Power", text, (0.0, watts, watts), limit, "Median of the blocks, against the power limit")
    if celsius := evidence.temperature_c:
        text = temperature_text(celsius)
        add(
            "Temperature",
            text,
            (0.0, celsius, celsius),
            _HOTTEST_C,
            "Median; the bar ends at 100 °C",
        )
    return found


def _most(limit_hz: float | None) -> str:
    return f"; the bar ends at {clock_text(limit_hz)}, the most it can" if limit_hz else ""
