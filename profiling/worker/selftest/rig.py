"""The device under proof, and the engine as the proofs use it, made of the parts that measure a job."""

from collections.abc import Callable, Sequence
from functools import cached_property

import torch

from roofscope.profiling.analysis.stop_rules import StopRule, WarmUpRule
from roofscope.profiling.devices.device import DeviceKind
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.candidate.settling import SETTLE_CALLS
from roofscope.profiling.worker.ceilings import memory
from roofscope.profiling.worker.ceilings.testbed import Testbed
from roofscope.profiling.worker.inputs import InputSet, sets_on
from roofscope.profiling.worker.job.candidate_process import Connect
from roofscope.profiling.worker.timing.instruments import Instruments
from roofscope.profiling.worker.timing.rounds import measure, warm_up
from roofscope.profiling.worker.timing.turn import Turn

STOP = StopRule(half_width=0.0025, cap_s=1.0, first_checkpoint=13)
_WARM_UP = WarmUpRule(least_s=0.1, most_s=0.6)
_SEED = 2026


class Rig:
    """One device, its instruments, and what several proofs need of it."""

    def __init__(
        self, instruments: Instruments, check_cancelled: Callable[[], None], connect: Connect
    ) -> None:
        self.instruments = instruments
        self.device = instruments.device
        self.torch_device = instruments.torch_device
        self.check_cancelled = check_cancelled
        self.connect = connect  # to a process that runs foreign code
        # A generator of its own: up to torch 2.11 a failed capture leaves the default one unusable.
        self._generator = torch.Generator(self.torch_device).manual_seed(_SEED)

    @property
    def is_cuda(self) -> bool:
        return self.device.kind is DeviceKind.CUDA

    @cached_property
    def testbed(self) -> Testbed:
        """The instruments of the ceilings, with which the headline engine is compared."""
        return Testbed(self.device, self._should_stop)

    @cached_property
    def read_ceiling(self) -> float:
        """DRAM read rate in byte/s, measured now."""
        try:
            return memory.read(self.testbed)[0].value
        finally:
            self.testbed.release_arrays()

    def noise(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Noise, uniform in [-1, 1], because zeros draw less power."""
        return torch.empty(shape, dtype=dtype, device=self.torch_device).uniform_(
            -1, 1, generator=self._generator
        )

    def sets(self, make: Callable[[], InputSet], bytes_per_call: int) -> list[InputSet]:
        """The input sets that a job would rotate through."""
        return sets_on(self.device, lambda count: [make() for _ in range(count)], bytes_per_call)

    def measured(self, *calls: tuple[Call, Sequence[InputSet]]) -> list[Turn]:
        """Settle, warm up and measure calls in turn, as the executor does."""
        turns: list[Turn] = []
        pool = self.instruments.output_pool()
        for call, sets in calls:
            for _ in range(SETTLE_CALLS):
                call(*sets[0])
            turns.append(Turn(self.instruments.timer(call, sets, pool)))
        read_state = self.instruments.read_state
        warm_up(turns, _WARM_UP, read_state, self.instruments.full_clock_hz)
        measure(turns, STOP, self.instruments.read_state, self.check_cancelled)
        return turns

    def headline_s(self, call: Call, sets: Sequence[InputSet]) -> float:
        """Seconds a call by the headline method."""
        return self.measured((call, sets))[0].interval.median

    def _should_stop(self) -> bool:
        self.check_cancelled()
        return False
