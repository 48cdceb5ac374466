"""What a GPU's counters say of one call of a point: bytes at each memory, FLOPs, occupancy, waits.

The bytes of DRAM are those of a call among others on rotated buffers, as the headline's are; the rest is of
one call with flushed caches. None where the profiler has no such counter for this GPU. Of counters that were
read from a report, the options of the run that wrote it decide on caches, and no more is known.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from roofscope.profiling.quantities import Count, Figure, Seconds

MOST_KERNELS = 256  # of one call; more are summed, and not listed
MOST_STALLS = 5


class Level(StrEnum):
    """A memory, from the farthest to the nearest."""

    DRAM = "DRAM"
    L2 = "L2"
    L1 = "L1"


class Stall(Struct, frozen=True):
    """What warps wait for, in cycles between two instructions of a warp."""

    reason: str  # as Nsight Compute has it, such as ``long_scoreboard``
    cycles: Figure


class KernelCounters(Struct, frozen=True):
    """One launch of a call."""

    name: str
    duration_s: Seconds  # under the profiler, with flushed caches
    dram_read_bytes: Figure | None = None  # among rotated calls
    dram_write_bytes: Figure | None = None
    l2_bytes: Figure | None = None  # between L1 and L2, both ways
    l2_all_bytes: Figure | None = None  # of all that looks into L2, such as its other half
    l1_bytes: Figure | None = None
    flops: dict[str, Figure] = {}  # executed outside of tensor cores, by type; a multiply-add is two
    tensor_instructions: dict[str, Figure] = {}  # of warps, by kind
    occupancy: Figure | None = None  # mean share of the warps that a busy multiprocessor holds: 0 to 1
    stalls: tuple[Stall, ...] = ()  # the largest first
    flushed_dram_bytes: Figure | None = (
        None  # alone and with flushed caches: dirty lines that stay are not in
    )


class Counters(Struct, frozen=True):
    """Of one call. The sums are of all its kernels, listed or not."""

    instrument: str  # such as ``Nsight Compute 2025.3.1``
    calls: Count  # rotated ones, over which the bytes of DRAM are a mean
    kernel_count: Count  # of one call
    duration_s: Seconds  # their sum, under the profiler
    dram_read_bytes: Figure | None = None
    dram_write_bytes: Figure | None = None
    l2_bytes: Figure | None = None
    l1_bytes: Figure | None = None
    kernels: tuple[KernelCounters, ...] = ()
    problem: str = ""  # one sentence, where a part of it is missing
    report: str = ""  # the file's name, where they were read from one

    @property
    def counted_by(self) -> str:
        """The profiler, and the report that they were read from."""
        return f"{self.instrument}, {self.report}" if self.report else self.instrument

    @property
    def dram_bytes(self) -> float | None:
        """Read and written; None where either is not known."""
        if self.dram_read_bytes is None or self.dram_write_bytes is None:
            return None
        return self.dram_read_bytes + self.dram_write_bytes

    def bytes_at(self, level: Level) -> float | None:
        return {Level.DRAM: self.dram_bytes, Level.L2: self.l2_bytes, Level.L1: self.l1_bytes}[level]

    @property
    def flops(self) -> dict[str, float]:
        """Executed outside of tensor cores, by type."""
        return _summed(kernel.flops for kernel in self.kernels)

    @property
    def tensor_instructions(self) -> dict[str, float]:
        return _summed(kernel.tensor_instructions for kernel in self.kernels)

    @property
    def occupancy(self) -> float | None:
        """0 to 1, by the kernels' durations."""
        known = [(kernel.duration_s, kernel.occupancy) for kernel in self.kernels]
        weighted = [(seconds, share) for seconds, share in known if share is not None and seconds]
        total = sum(seconds for seconds, _ in weighted)
        return sum(seconds * share for seconds, share in weighted) / total if total else None

    @property
    def stalls(self) -> tuple[Stall, ...]:
        """The largest first, by the kernels' durations."""
        total = sum(kernel.duration_s for kernel in self.kernels)
        found: dict[str, float] = defaultdict(float)
        for kernel in self.kernels if total else ():
            for stall in kernel.stalls:
                found[stall.reason] += stall.cycles * kernel.duration_s / total
        largest = sorted(found.items(), key=lambda pair: -pair[1])[:MOST_STALLS]
        return tuple(Stall(reason, cycles) for reason, cycles in largest)


def _summed(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for part in parts:
        for name, value in part.items():
            found[name] += value
    return dict(found)
