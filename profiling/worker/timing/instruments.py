"""The instruments of a device: its clock, its state, its timers. They are made once per device."""

import math
import statistics
from collections.abc import Sequence
from functools import cached_property

import torch

from roofscope.profiling.devices.device import Device
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.gc_policy import keep_out_of_captures
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.timing.block import BLOCK_S, LocalTimer
from roofscope.profiling.worker.timing.blocks import make_timer
from roofscope.profiling.worker.timing.energy import energy_reader
from roofscope.profiling.worker.timing.gpu_clock import gpu_clock
from roofscope.profiling.worker.timing.graphs import OutputPool
from roofscope.profiling.worker.timing.single_calls import calibrate_offset
from roofscope.profiling.worker.timing.telemetry import state_reader

_FLOOR_BLOCKS = 3


class Instruments:
    """The instruments of one device; what takes long to make is made on first use."""

    def __init__(self, device: Device) -> None:
        keep_out_of_captures()
        self.device = device
        self.torch_device = torch.device(device.id)
        self.read_state = state_reader(device)
        self.clock = gpu_clock(self.torch_device)
        self.energy = energy_reader(device)

    @cached_property
    def call_offset_s(self) -> float | None:
        """What an event pair inside a graph adds to a call; None without a kernel of known duration."""
        return calibrate_offset(self.clock) if self.clock else None

    @cached_property
    def launch_floor_s(self) -> float | None:
        """Seconds a call of an empty kernel by the headline's method; None without such a kernel."""
        clock = self.clock
        if clock is None:
            return None

        def launch(x: torch.Tensor) -> torch.Tensor:
            clock.nothing()
            return x

        timer = self.timer(launch, [(torch.zeros(1, device=self.torch_device),)])
        return statistics.median(timer.block().seconds for _ in range(_FLOOR_BLOCKS))

    @property
    def full_clock_hz(self) -> float | None:
        """The highest SM clock, infinite where the driver does not say; None on a CPU, whose is not read."""
        return (self.device.max_clock_hz or math.inf) if self.torch_device.type == "cuda" else None

    def output_pool(self) -> OutputPool | None:
        """Memory for the outputs of a job's implementations; None on a CPU."""
        return OutputPool() if self.torch_device.type == "cuda" else None

    def timer(
        self,
        call: Call,
        sets: Sequence[InputSet],
        pool: OutputPool | None = None,
        block_s: float = BLOCK_S,
        *,
        seems_long: bool = False,
    ) -> LocalTimer:
        """The best timer for this call here; implementations to be compared share a pool.

        ``seems_long``: a call, to its end, took more than BLOCK_S.
        """
        return make_timer(call, sets, self.torch_device, self.clock, pool, block_s, seems_long=seems_long)
