"""Nameplate ceilings: what formulas and the data sheet promise before anything is measured.

Bandwidth = 2 x memory clock x bus width / 8: NVML gives half the data rate of every memory type. FP32 = cores
x 2 x clock. Tensor = multiprocessors x F x clock, where F is a property of the product class and not of the
compute capability alone: GeForce cards have half the rate of their siblings. Only dense rates count; the
doubled figure for sparse operands is no roof. ``unit_rates.py`` has the other pipes.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.devices.device import Device, DeviceKind, lanes_per_multiprocessor
from roofscope.profiling.roofline.roofline import Bound, Ceiling, Source
from roofscope.profiling.roofline.unit_rates import unit_rates

# A reading this far above the formula is none: clocks are read to 1 %, and loops only lose time.
MARGIN = 1.05


class TensorClass(Struct, frozen=True):
    """Dense FLOP per multiprocessor and clock of one product class (FMA = 2, FP32 accumulation).

    ``name_pattern`` is searched in the lower-cased device name. None: the class lacks the pipe.
    """

    name: str
    compute_capability: tuple[int, int]
    name_pattern: str
    fp16: int
    bf16: int | None = None
    tf32: int | None = None
    fp8: int | None = None
    int8: int | None = None
    fp16_sums: int | None = None  # FP16 with sums in FP16, where that is another rate

    def rates(self) -> tuple[tuple[Bound, int], ...]:
        rates = (
            (Bound.FP16, self.fp16),
            (Bound.FP16_SUMS, self.fp16_sums),
            (Bound.BF16, self.bf16),
            (Bound.TF32, self.tf32),
            (Bound.FP8, self.fp8),
            (Bound.INT8, self.int8),
        )
        return tuple((bound, rate) for bound, rate in rates if rate)


TENSOR_CLASSES = (
    # V100 data sheet: 125 TFLOP/s = 80 x 1024 x 1530 MHz.
    TensorClass("V100", (7, 0), r"v100", 1024),
    # T4 data sheet: 65 TFLOP/s = 40 x 1024 x 1590 MHz, INT8 130. GeForce halves FP32 accumulation, not INT8.
    TensorClass("T4 and Quadro RTX", (7, 5), r"\bt4\b|quadro rtx", 1024, int8=2048),
    TensorClass("GeForce RTX 20", (7, 5), r"geforce rtx", 512, int8=2048, fp16_sums=1024),
    # A100 data sheet: 312 TFLOP/s = 108 x 2048 x 1410 MHz; TF32 156, INT8 624. A800 differs in NVLink only.
    TensorClass("A100", (8, 0), r"\ba[18]00x?\b", 2048, 2048, 1024, int8=4096),
    # A10 data sheet: 125 TFLOP/s, INT8 250; RTX A6000: 154.8. The A10G of clouds is another product.
    TensorClass("A10, A40 and RTX A6000", (8, 6), r"\ba10\b|\ba40\b|\ba6000\b", 1024, 1024, 512, int8=2048),
    # GA102 white paper: RTX 3090 71 TFLOP/s (142 with FP16 accumulation), TF32 35.6, INT8 284.
    TensorClass("GeForce RTX 30", (8, 6), r"geforce rtx", 512, 512, 256, int8=2048, fp16_sums=1024),
    # L4 data sheet: 121 TFLOP/s, FP8 and INT8 242; L40S 362, 733.
    TensorClass("L4 and L40S", (8, 9), r"\bl4\b|\bl40s\b", 1024, 1024, 512, 2048, 2048),
    # Ada white paper: RTX 4090 165.2 TFLOP/s, FP8 330.3 with FP32 accumulation (330.3 and 660.6 with FP16),
    # TF32 82.6, INT8 660.6.
    TensorClass("GeForce RTX 40", (8, 9), r"geforce rtx", 512, 512, 256, 1024, 2048, 1024),
    # H100 SXM data sheet: 989 TFLOP/s = 132 x 4096 x 1830 MHz; FP8 and INT8 1979, TF32 495. The H20
    # is cut down.
    TensorClass("H100 and H200", (9, 0), r"\b(h100|h800|g?h200)\b", 4096, 4096, 2048, 8192, 8192),
    # B200 data sheet: 2250 TFLOP/s; FP8 and INT8 4500, TF32 1125.
    TensorClass("B200", (10, 0), r"\bg?b200\b", 8192, 8192, 4096, 16384, 16384),
    # Blackwell RTX white paper: RTX 5090 209.5 TFLOP/s, FP8 419 with FP32 accumulation (419 and 838 with
    # FP16), TF32 104.8, INT8 838.
    TensorClass("GeForce RTX 50", (12, 0), r"geforce rtx", 512, 512, 256, 1024, 2048, 1024),
)


class RatedClock(Struct, frozen=True):
    """Boost clock of a product's data sheet, and the lower one its tensor figures assume, if any.

    NVML's maximum is the top of the voltage curve (3105 MHz on an RTX 4090 rated 2520): a bound, no promise.
    """

    name_pattern: str
    clock_hz: float
    tensor_clock_hz: float | None = None


RATED_CLOCKS = (
    RatedClock(r"v100-sxm2", 1530e6),  # data sheet 15.7 TFLOP/s FP32
    RatedClock(r"\bt4\b", 1590e6),  # data sheet 8.1
    RatedClock(r"\ba100\b", 1410e6),  # data sheet 19.5, SXM4 and PCIe alike
    RatedClock(r"rtx 3090$", 1695e6),  # white paper 35.6
    RatedClock(r"rtx 4090$", 2520e6),  # white paper 82.6
    RatedClock(r"\bl4\b", 2040e6),  # data sheet 30.3
    RatedClock(r"\bl40s\b", 2520e6),  # data sheet 91.6
    RatedClock(r"\bh100 80gb hbm3\b", 1980e6, 1830e6),  # SXM data sheet 67 and 989
    RatedClock(r"\bh100 pcie\b", 1755e6, 1620e6),  # PCIe data sheet 51 and 756
    RatedClock(r"\bh200$", 1980e6, 1830e6),  # SXM data sheet 67 and 989; "H200 NVL" is another
    RatedClock(r"\bb200$", 1965e6, 1860e6),  # data sheet 75 and 2250
    RatedClock(r"rtx 5090$", 2407e6),  # white paper 104.8
)


def tensor_class(device: Device) -> TensorClass | None:
    """The product class whose tensor rates hold for this device; None where none is known."""
    name = device.name.lower()
    return next(
        (
            row
            for row in TENSOR_CLASSES
            if row.compute_capability == device.compute_capability and re.search(row.name_pattern, name)
        ),
        None,
    )


def nameplate(device: Device, recorded_at: str) -> tuple[Ceiling, ...]:
    """Ceilings by formula, at the rated clock where the table has it, else at NVML's maximum.

    It gives only those that the known facts allow: nothing for a CPU, no tensor ceiling without a class
    (``nameplate_gap`` gives the reason).
    """
    rated = _rated_clock(device)
    clock = _Clock(rated.clock_hz, "rated boost clock") if rated else _nvml_clock(device)
    tensor = clock
    if rated and rated.tensor_clock_hz:
        tensor = _Clock(rated.tensor_clock_hz, "clock of the data sheet's tensor figures")
    memory = _Clock(device.max_memory_clock_hz, "highest memory clock")
    return _ceilings(device, clock, tensor, memory, Source.NAMEPLATE, recorded_at)


def nameplate_held(
    device: Device,
    clock_hz: float | None,
    memory_clock_hz: float | None,
    recorded_at: str,
    meaning: str = "clock held",
) -> tuple[Ceiling, ...]:
    """The same formulas at the clocks that a run held. A clock that is None gives no ceiling.

    ``meaning`` says how the SM clock is known.
    """
    clock = _Clock(clock_hz, meaning)
    memory = _Clock(memory_clock_hz, "memory clock held")
    return _ceilings(device, clock, clock, memory, Source.NAMEPLATE_HELD, recorded_at)


def nameplate_limit(device: Device, bound: Bound, clock_hz: float | None) -> Ceiling | None:
    """What a true reading of this bound reaches at most; None where no formula is known.

    ``clock_hz`` was read in band, else None: then the highest clock that the device may take stands in,
    because cards boost beyond the rated clock (an RTX 4090 to 2.7 GHz, rated 2.52).
    """
    rated = _rated_clock(device)
    highest_hz = max(filter(None, (rated.clock_hz if rated else None, device.max_clock_hz)), default=None)
    clock = _Clock(clock_hz, "clock in band") if clock_hz else _Clock(highest_hz, "highest clock")
    memory = _Clock(device.max_memory_clock_hz, "highest memory clock")
    found = _ceilings(device, clock, clock, memory, Source.NAMEPLATE, "")
    limit = next((ceiling for ceiling in found if ceiling.bound is bound), None)
    row = tensor_class(device)
    if limit and bound is Bound.FP8 and row and row.fp16_sums:
        # With fast accumulation, FP8 may sum in FP16 as well.
        return replace(limit, value=limit.value * row.fp16_sums / row.fp16)
    return limit


def nameplate_gap(device: Device) -> str | None:
    """One sentence when the nameplate lacks ceilings of this GPU, else None."""
    if device.kind is not DeviceKind.CUDA:
        return None
    lacking: list[str] = []
    if not (device.max_memory_clock_hz and device.bus_width_bits):
        lacking.append("memory bandwidth (no memory clock or bus width from NVML)")
    if not _core_count(device):
        lacking.append("FP32 (core count not known)")
    if not tensor_class(device):
        lacking.append("tensor pipes (its class is not in the table)")
    if not lacking:
        return None
    return f"{device.name} has no nameplate ceiling for {' and '.join(lacking)}; measured ceilings stand in."


class _Clock(Struct, frozen=True):
    hz: float | None
    meaning: str

    def __str__(self) -> str:
        return f"{(self.hz or 0) / 1e6:.0f} MHz ({self.meaning})"


def _rated_clock(device: Device) -> RatedClock | None:
    name = device.name.lower()
    return next((row for row in RATED_CLOCKS if re.search(row.name_pattern, name)), None)


def _nvml_clock(device: Device) -> _Clock:
    return _Clock(device.max_clock_hz, "NVML's maximum, above what is sustained")


def _core_count(device: Device) -> int | None:
    lanes = lanes_per_multiprocessor(device.compute_capability)
    if device.core_count is None and device.multiprocessor_count and lanes:
        return device.multiprocessor_count * lanes
    return device.core_count


def _multiprocessor_count(device: Device) -> int | None:
    lanes = lanes_per_multiprocessor(device.compute_capability)
    if device.multiprocessor_count is None and device.core_count and lanes:
        return device.core_count // lanes
    return device.multiprocessor_count


def _ceilings(
    device: Device,
    clock: _Clock,
    tensor: _Clock,
    memory: _Clock,
    source: Source,
    recorded_at: str,
) -> tuple[Ceiling, ...]:
    if device.kind is not DeviceKind.CUDA:
        return ()
    found: list[Ceiling] = []

    def add(bound: Bound, value: float, method: str, clock_hz: float | None = None) -> None:
        found.append(Ceiling(bound, source, value, method, device.uuid, recorded_at, clock_hz=clock_hz))

    if memory.hz and device.bus_width_bits:
        method = f"2 x {memory} x {device.bus_width_bits} bit / 8."
        add(Bound.DRAM, 2 * memory.hz * device.bus_width_bits / 8, method)
    if clock.hz and (cores := _core_count(device)):
        add(Bound.FP32, cores * 2 * clock.hz, f"{cores} cores x 2 FLOP x {clock}.", clock.hz)
    count = _multiprocessor_count(device)
    units, row = unit_rates(device.compute_capability), tensor_class(device)
    if units and clock.hz and count:
        for bound, rate in units.rates():
            add(bound, count * rate * clock.hz, f"{count} multiprocessors x {rate} FLOP x {clock}.", clock.hz)
    if row and tensor.hz and count:
        for bound, rate in row.rates():
            method = f"{count} multiprocessors x {rate} FLOP ({row.name}) x {tensor}."
            add(bound, count * rate * tensor.hz, method, tensor.hz)
    return tuple(found)
