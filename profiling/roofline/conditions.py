"""What a device was like while a ceiling was measured, and whether such a ceiling is fit to be kept."""

from msgspec import Struct

from roofscope.profiling.devices.device import APPLICATION_CLOCK, SLOWDOWNS
from roofscope.profiling.quantities import Count, Figure, Hertz


class Conditions(Struct, frozen=True):
    """Of the blocks that gave the value, read while the device worked. None where nothing reports it."""

    clock_hz: Hertz | None = None  # the median block's, cycles over time on the device
    clock_low_hz: Hertz | None = None  # the slowest and the fastest block
    clock_high_hz: Hertz | None = None
    sampled_clock_hz: Hertz | None = None  # what the driver said of the SM clock meanwhile
    memory_clock_hz: Hertz | None = None
    power_w: Figure | None = None
    temperature_c: Figure | None = None
    ecc_enabled: bool | None = None
    application_clock_hz: Hertz | None = None
    application_memory_clock_hz: Hertz | None = None
    other_process_count: Count = 0  # that computed on the GPU at that time
    event_reasons: tuple[str, ...] = ()  # those seen
    left_out_count: Count = 0  # blocks under a slowdown, which others replaced

    @property
    def slowdowns(self) -> tuple[str, ...]:
        return tuple(reason for reason in self.event_reasons if reason in SLOWDOWNS)

    @property
    def unfit_because(self) -> str:
        """Why a later session may not take the ceiling over, after "was measured"; "" where it may."""
        if self.slowdowns:
            return f"under {' and '.join(self.slowdowns)}"
        if self.other_process_count:
            count = self.other_process_count
            return f"beside {count} other process{'es' if count > 1 else ''} on the GPU"
        if APPLICATION_CLOCK in self.event_reasons and self.application_clock_hz is None:
            return "at a locked clock whose setting the driver does not tell"
        return ""
