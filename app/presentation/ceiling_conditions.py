"""What the device was like while a ceiling was measured, in words."""

from collections.abc import Iterator

from roofscope.app.presentation.formatting import (
    clock_range_text,
    clock_text,
    power_text,
    temperature_text,
)
from roofscope.profiling.roofline.conditions import Conditions
from roofscope.profiling.roofline.roofline import Ceiling


def conditions_text(ceiling: Ceiling) -> str:
    """``1592 MHz, 1580 to 1601; memory 3201 MHz, 698 W, 61 °C, ECC on; power cap``; "" if unknown."""
    if ceiling.conditions is None:
        return ""
    parts = (", ".join(some) for some in (_clock(ceiling.conditions), _board(ceiling.conditions)))
    return "; ".join(part for part in (*parts, ", ".join(_events(ceiling.conditions))) if part)


def _clock(found: Conditions) -> Iterator[str]:
    if found.clock_hz:
        low, high = found.clock_low_hz or found.clock_hz, found.clock_high_hz or found.clock_hz
        yield clock_range_text(found.clock_hz, low, high)
    elif found.sampled_clock_hz:
        yield f"{clock_text(found.sampled_clock_hz)} by the driver's samples"


def _board(found: Conditions) -> Iterator[str]:
    if found.memory_clock_hz:
        yield f"memory {clock_text(found.memory_clock_hz)}"
    if found.power_w:
        yield power_text(found.power_w)
    if found.temperature_c:
        yield temperature_text(found.temperature_c)
    if found.ecc_enabled is not None:
        yield f"ECC {'on' if found.ecc_enabled else 'off'}"


def _events(found: Conditions) -> Iterator[str]:
    yield from found.event_reasons
    if count := found.other_process_count:
        yield f"{count} other process{'es' if count > 1 else ''}"
