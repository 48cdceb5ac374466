"""What timing a device for a ceiling gave: blocks, each with its clock and the states read meanwhile."""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from roofscope.profiling.analysis.statistics import median_of_known
from roofscope.profiling.devices.device import SLOWDOWNS, Device, DeviceState
from roofscope.profiling.roofline.conditions import Conditions
from roofscope.profiling.roofline.roofline import Source

_FASTEST = 5


class Block(Struct, frozen=True):
    """Seconds a call, the SM clock over the block (None without cuda.core), and states read while it ran."""

    seconds: float
    clock_hz: float | None = None
    states: tuple[DeviceState, ...] = ()

    @property
    def is_slowed(self) -> bool:
        """Whether the driver reported a fault of the device, such as heat."""
        return any(reason in SLOWDOWNS for state in self.states for reason in state.event_reasons or ())


class BlockTimes(Struct, frozen=True):
    """The blocks that count, in the order measured."""

    blocks: tuple[Block, ...]
    total_count: int = 0  # with those that do not
    left_out_count: int = 0  # for a slowdown

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "BlockTimes":
        """Blocks under a slowdown are left out, unless there are no others."""
        sound = tuple(block for block in blocks if not block.is_slowed)
        left_out = len(blocks) - len(sound) if sound else 0
        return cls(sound or tuple(blocks), len(sound or blocks), left_out)

    @property
    def median_s(self) -> float:
        return median(block.seconds for block in self.blocks)

    @property
    def fastest(self) -> "BlockTimes":
        """The fastest blocks: clocks at boost, and on a CPU other programs only slow a block."""
        fastest = sorted(self.blocks, key=lambda block: block.seconds)[:_FASTEST]
        return BlockTimes(tuple(fastest), self.total_count, self.left_out_count)

    @property
    def text(self) -> str:
        """For a method sentence: ``median of the 5 fastest of 9``."""
        count = len(self.blocks)
        if count == self.total_count:
            return f"median of {count}"
        return f"median of the {count} fastest of {self.total_count}"

    @property
    def clock_hz(self) -> float | None:
        """The SM clock in band."""
        return median_of_known([block.clock_hz for block in self.blocks])

    @property
    def sampled_clock_hz(self) -> float | None:
        """What the driver said of it, which may be of another moment."""
        return median_of_known([state.clock_hz for state in self._states])

    @property
    def memory_clock_hz(self) -> float | None:
        return median_of_known([state.memory_clock_hz for state in self._states])

    @property
    def power_w(self) -> float | None:
        return median_of_known([state.power_w for state in self._states])

    @property
    def clock_text(self) -> str:
        """For a method sentence: `` at 1592 MHz``."""
        if self.clock_hz:
            return f" at {self.clock_hz / 1e6:.0f} MHz"
        if self.sampled_clock_hz:
            return f" at {self.sampled_clock_hz / 1e6:.0f} MHz by the driver's samples, not in band"
        return ""

    def conditions(self, device: Device, other_process_count: int = 0) -> Conditions:
        clocks = [block.clock_hz for block in self.blocks if block.clock_hz]
        reasons = dict.fromkeys(reason for state in self._states for reason in state.event_reasons or ())
        return Conditions(
            clock_hz=self.clock_hz,
            clock_low_hz=min(clocks, default=None),
            clock_high_hz=max(clocks, default=None),
            sampled_clock_hz=self.sampled_clock_hz,
            memory_clock_hz=self.memory_clock_hz,
            power_w=self.power_w,
            temperature_c=median_of_known([state.temperature_c for state in self._states]),
            ecc_enabled=device.ecc_enabled,
            application_clock_hz=device.application_clock_hz,
            application_memory_clock_hz=device.application_memory_clock_hz,
            other_process_count=other_process_count,
            event_reasons=tuple(reason for reason in reasons if reason != "idle"),
            left_out_count=self.left_out_count,
        )

    @property
    def _states(self) -> list[DeviceState]:
        return [state for block in self.blocks for state in block.states]


class Reading(Struct, frozen=True):
    """A measured limit in byte/s or FLOP/s, one sentence on how, and the blocks that gave it."""

    value: float
    method: str
    timing: BlockTimes
    source: Source = Source.MEASURED_BURST
