"""The SM clock during a block, read in band, and a kernel of known duration.

NVML's clock is a sample of a moment; cycles over time between two marks is the mean over the block itself.
The method is that of nvbench's gpu_frequency (clock64 and %globaltimer on one multiprocessor).
"""

from pathlib import Path

import torch

from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.worker.failures import BuildError, Refusal

_SOURCE = Path(__file__).resolve().parent / "device_code" / "clock.cu"
_BLOCKS_PER_MULTIPROCESSOR = 4  # some multiprocessors may still be busy, so each gets several chances
OWN_PREFIX = "roofscope_"  # of our kernels' names, so that a profile can leave them out
_LEAST_NS = 100_000  # %globaltimer may tick as coarsely as 1 us


class GpuClock:
    """Marks and spins on one GPU. Raises Refusal where cuda.core is missing."""

    def __init__(self, device: torch.device) -> None:
        from roofscope.profiling.worker.build.providers import cuda

        architecture = cuda.architecture_of(torch.cuda.get_device_capability(device))
        self._program = cuda.CudaProgram(_SOURCE, Dtype.FLOAT32, architecture, device)
        self._count = self._program.multiprocessor_count
        # The kernel writes pinned memory, and the host reads it without a copy.
        self._begin = torch.zeros(2 * _MOST_MULTIPROCESSORS, dtype=torch.int64, pin_memory=True)
        self._end = torch.zeros_like(self._begin, pin_memory=True)

    def mark_begin(self) -> None:
        self._begin.zero_()
        self._mark(self._begin)

    def mark_end(self) -> None:
        self._end.zero_()
        self._mark(self._end)

    def spin(self, duration_s: float) -> None:
        """Keep one thread busy for this long."""
        self._program.launch(f"{OWN_PREFIX}spin", 1, 1, round(duration_s * 1e9))

    def mix(self, cycles: int, duration_s: float) -> None:
        """Keep one thread busy for this many cycles of the SM clock, and then for this long."""
        self._program.launch(f"{OWN_PREFIX}mix", 1, 1, cycles, round(duration_s * 1e9))

    def nothing(self) -> None:
        """Launch an empty kernel."""
        self._program.launch(f"{OWN_PREFIX}nothing", 1, 1)

    def hertz(self) -> float | None:
        """Median clock of the multiprocessors marked at both ends; call it once the device is idle."""
        begin, end = self._begin.view(-1, 2), self._end.view(-1, 2)
        both = (begin[:, 1] > 0) & (end[:, 1] - begin[:, 1] >= _LEAST_NS)
        if not both.any():
            return None
        cycles = (end[both, 0] - begin[both, 0]).double()
        nanoseconds = (end[both, 1] - begin[both, 1]).double()
        return (cycles / nanoseconds).median().item() * 1e9

    def _mark(self, marks: torch.Tensor) -> None:
        self._program.launch(f"{OWN_PREFIX}mark", self._count * _BLOCKS_PER_MULTIPROCESSOR, 1, marks)


_MOST_MULTIPROCESSORS = 1024


def gpu_clock(device: torch.device) -> GpuClock | None:
    """The clock of a GPU; None on a CPU and without NVRTC, where NVML's clock has to do."""
    if device.type != "cuda":
        return None
    try:
        return GpuClock(device)
    except (Refusal, BuildError):
        return None
