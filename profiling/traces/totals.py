"""What is counted of a trace, as it is shown and printed; seconds."""

from msgspec import Struct


class KernelRow(Struct, frozen=True):
    """All runs of one kernel, copy or fill; times in seconds."""

    name: str
    count: int
    total_s: float
    min_s: float
    max_s: float
    share: float  # of the time of all rows, 0 to 1
    short_name: str = ""  # readable, and another one for each name of the trace

    @property
    def mean_s(self) -> float:
        return self.total_s / self.count


class GpuTime(Struct, frozen=True):
    """Of one GPU, from its first work to the end of its last; seconds."""

    device: int
    span_s: float
    compute_s: float  # with at least one kernel
    copy_s: float  # with at least one copy or fill
    both_s: float  # of these two, at once
    gap_count: int
    longest_gap_s: float

    @property
    def busy_s(self) -> float:
        return self.compute_s + self.copy_s - self.both_s

    @property
    def idle_s(self) -> float:
        return self.span_s - self.busy_s


class LaunchLatency(Struct, frozen=True):
    """From the begin of a launch on the host to the begin of its work on the GPU; seconds."""

    count: int
    median_s: float
    p95_s: float


class TraceTotals(Struct, frozen=True):
    """The busiest kernels first."""

    kernels: tuple[KernelRow, ...]
    gpus: tuple[GpuTime, ...]
    launches: LaunchLatency | None  # None where no arrow leads from a launch to its work
