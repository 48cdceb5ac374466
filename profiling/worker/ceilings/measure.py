"""Measures what a device can do: memory bandwidth by access mix, and the arithmetic pipes.

Each ceiling is one entry of MEASUREMENTS; a function returns nothing where the device lacks the pipe.
"""

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext

import torch
from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.results.session import timestamp
from roofscope.profiling.roofline.nameplate import MARGIN, nameplate_held, nameplate_limit
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Mix, Source
from roofscope.profiling.worker.ceilings import compute, memory
from roofscope.profiling.worker.ceilings.block_times import Reading
from roofscope.profiling.worker.ceilings.testbed import Testbed
from roofscope.profiling.worker.failures import first_line

_DEADLINE_S = 60.0  # of one ceiling, which takes some seconds


class Measurement(Struct, frozen=True):
    """One ceiling: what it bounds, and the function that measures it, in a burst and perhaps sustained."""

    bound: Bound
    measure: Callable[[Testbed], list[Reading]]
    mix: Mix | None = None

    @property
    def detail(self) -> str:
        """For people: ``DRAM copy``."""
        return f"{self.bound.label} {self.mix}" if self.mix else self.bound.label

    def text(self, value: float) -> str:
        """A value of this ceiling in words: ``4.81 TB/s``."""
        return f"{value / 1e12:.3g} {'TB/s' if self.bound.is_memory else 'TFLOP/s'}"


MEASUREMENTS = (
    Measurement(Bound.DRAM, memory.copy, Mix.COPY),
    Measurement(Bound.DRAM, memory.read, Mix.READ),
    Measurement(Bound.DRAM, memory.write, Mix.WRITE),
    Measurement(Bound.DRAM, memory.triad, Mix.TRIAD),
    Measurement(Bound.L2, memory.resident_read, Mix.READ),
    Measurement(Bound.FP32, compute.fp32),
    Measurement(Bound.FP64, compute.fp64),
    Measurement(Bound.HALF2, compute.half2),
    Measurement(Bound.BFLOAT162, compute.bfloat162),
    Measurement(Bound.SPECIAL, compute.special),
    Measurement(Bound.FP64_TENSOR, compute.fp64_tensor),
    Measurement(Bound.TF32, compute.tf32),
    Measurement(Bound.FP16, compute.fp16),
    Measurement(Bound.FP16_SUMS, compute.fp16_sums),
    Measurement(Bound.BF16, compute.bf16),
    Measurement(Bound.FP8, compute.fp8),
    Measurement(Bound.INT8, compute.int8),
)


class FalseReadings(Exception):
    """A reading no device can give was refused: what measured it measured the others too."""


def _to_log(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the worker's standard output is its log


def measure_ceilings(
    device: Device,
    report: Callable[[Ceiling], None],
    should_stop: Callable[[], bool],
    announce: Callable[[str, float], None],
    notify: Callable[[str], None] = _to_log,
) -> None:
    """Measure every ceiling of a device and report each as soon as it is known.

    ``announce(detail, deadline_s)`` is called before each, ``notify`` with one sentence for each that
    could not be measured or was refused. Returns early once ``should_stop()``. Raises OutOfMemoryError when
    other processes fill the GPU, FalseReadings at the end where a reading was refused, so that none of this
    probe is kept, and what torch raises when the device is broken.
    """
    testbed = Testbed(device, should_stop)
    held: set[Bound] = set()
    refused: list[str] = []
    with torch.cuda.device(testbed.torch_device) if testbed.is_cuda else nullcontext():
        try:
            for measurement, found in _survey(testbed, should_stop, announce, notify):
                readings: list[Reading] = []
                for reading in found:
                    if problem := problem_with(device, measurement, reading, refused):
                        refused.append(measurement.detail)
                        notify(problem)
                        continue
                    readings.append(reading)
                    report(_ceiling(testbed, device, measurement, reading))
                if readings and measurement.bound not in held:
                    held.add(measurement.bound)
                    for ceiling in _held(device, measurement.bound, readings[-1]):
                        report(ceiling)
        finally:
            testbed.release_arrays()
    if refused:
        names = ", ".join(dict.fromkeys(refused))
        raise FalseReadings(f"these ceilings were refused: {names}. None of this probe is kept.")


def problem_with(device: Device, measurement: Measurement, reading: Reading, refused: Sequence[str]) -> str:
    """One sentence where a reading cannot be true, else "". ``refused`` are the probe's earlier ones."""
    limit = nameplate_limit(device, measurement.bound, reading.timing.clock_hz)
    name = f"The {measurement.detail} ceiling of {device.name}"
    value = measurement.text(reading.value)
    if limit is None:
        if not refused:
            return ""
        return f"{name} was refused: no nameplate checks its {value}, and {refused[0]} was false here."
    if reading.value <= MARGIN * limit.value:
        return ""
    return (
        f"{name} was refused: {value} is above {MARGIN:g} x its nameplate, {measurement.text(limit.value)} "
        f"({limit.method.rstrip('.')}). Either a file replaced the timers, or that formula is wrong."
    )


def _survey(
    testbed: Testbed,
    should_stop: Callable[[], bool],
    announce: Callable[[str, float], None],
    notify: Callable[[str], None],
) -> Iterator[tuple[Measurement, list[Reading]]]:
    """Each measurement with its readings, given in the last pass; each is the best over all passes."""
    best: dict[tuple[Bound, Mix | None, Source], Reading] = {}
    for passes_left in reversed(range(testbed.pace.passes)):
        for measurement in MEASUREMENTS:
            if should_stop():
                return
            if measurement.bound is not Bound.DRAM:
                testbed.release_arrays()
            announce(measurement.detail, _DEADLINE_S)
            readings = _measure(testbed, measurement, notify)
            if should_stop():  # a reading that the user cut short is no ceiling
                return
            for reading in readings:
                key = (measurement.bound, measurement.mix, reading.source)
                best[key] = max(reading, best.get(key, reading), key=lambda reading: reading.value)
            if not passes_left:
                yield (
                    measurement,
                    [best[measurement.bound, measurement.mix, reading.source] for reading in readings],
                )


def _measure(testbed: Testbed, measurement: Measurement, notify: Callable[[str], None]) -> list[Reading]:
    """The readings of one ceiling. If one fails, the others go on, unless the device is broken."""
    try:
        return measurement.measure(testbed)
    except torch.cuda.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - drivers and libraries refuse in ways of their own
        if testbed.is_cuda:
            torch.cuda.synchronize()  # raises again where the device itself is broken
        traceback.print_exc()
        name = f"{measurement.detail} ceiling of {testbed.device.name}"
        notify(f"The {name} was not measured: {first_line(error)}")
        return []


def _ceiling(testbed: Testbed, device: Device, measurement: Measurement, reading: Reading) -> Ceiling:
    conditions = reading.timing.conditions(device, testbed.count_neighbours())
    remarks = [reading.method]
    if testbed.is_cuda and nameplate_limit(device, measurement.bound, None) is None:
        remarks.append("No nameplate checks it.")
    if conditions.unfit_because:
        remarks.append(f"It was measured {conditions.unfit_because}.")
    return Ceiling(
        bound=measurement.bound,
        source=reading.source,
        value=reading.value,
        method=" ".join(remarks),
        device_uuid=device.uuid,
        recorded_at=timestamp(),
        mix=measurement.mix,
        clock_hz=reading.timing.clock_hz,
        conditions=conditions if testbed.is_cuda else None,
    )


def _held(device: Device, bound: Bound, reading: Reading) -> list[Ceiling]:
    """The data sheet's formula at the clocks held meanwhile, under sustained load if there was any."""
    timing = reading.timing
    clock_hz, meaning = timing.clock_hz, "clock held, in band"
    if clock_hz is None:
        clock_hz, meaning = timing.sampled_clock_hz, "clock by the driver's samples, not in band"
    ceilings = nameplate_held(device, clock_hz, timing.memory_clock_hz, timestamp(), meaning)
    return [ceiling for ceiling in ceilings if ceiling.bound is bound]
