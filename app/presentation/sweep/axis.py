"""Along what a sweep goes: the axis that varies, several that vary as one, or the bytes that a call moves."""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from roofscope.app.presentation.formatting import folded_text, tick_value_text
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import size_text

Sizes = Mapping[str, int]
_STEPS = 4  # between an amount and twice that, which stand apart on an axis


class Along(StrEnum):
    """What x is where it is not an axis of the kernel."""

    BYTES = "bytes"
    FLOPS = "flops"


class SweepAxis(Struct, frozen=True):
    """``names`` are axes that are equal throughout, such as m, n and k of a square product; none: an amount.

    ``fixed`` are the sizes of the other axes at which the sweep is taken; {} where all points are.
    """

    names: tuple[str, ...] = ()
    along: Along = Along.BYTES  # without names
    fixed: dict[str, int] = {}
    beside: tuple[str, ...] = ()  # axes that vary with it, so that a size is not said by it alone

    @property
    def is_size(self) -> bool:
        return bool(self.names)

    @property
    def key(self) -> str:
        """How the command line names it."""
        return self.names[0] if self.names else str(self.along)

    @property
    def short(self) -> str:
        """For a list to choose from: ``n``, ``cols, at rows=4096``, ``bytes``, ``FLOPs``."""
        if not self.names:
            return "bytes" if self.along is Along.BYTES else "FLOPs"
        text = " = ".join(self.names)
        return f"{text}, at {size_text(self.fixed)}" if self.fixed else text

    @property
    def title(self) -> str:
        """For the axis of a picture: ``m = n = k``, ``cols (rows varies with it)``."""
        if not self.names:
            return "Bytes read and written by a call" if self.along is Along.BYTES else "FLOPs of a call"
        if not self.beside:
            return self.short
        verb = "vary" if len(self.beside) > 1 else "varies"
        return f"{self.short} ({' and '.join(self.beside)} {verb} with it)"

    def value(self, job: Job) -> float:
        """Where a job stands on it."""
        if self.names:
            return float(job.workload.sizes[self.names[0]])
        return float(job.work.byte_count if self.along is Along.BYTES else job.work.flop_count)

    def holds(self, job: Job) -> bool:
        """Whether a job is of this sweep."""
        sizes = job.workload.sizes
        return all(name in sizes for name in self.names) and self.fixed.items() <= sizes.items()

    def text(self, value: float) -> str:
        """One place on it: ``1Ki``, ``98432``, ``50 MB``."""
        if self.names:
            return folded_text(round(value))
        return tick_value_text(value, "B" if self.along is Along.BYTES else "FLOP")


def axes_of(jobs: Sequence[Job]) -> tuple[SweepAxis, ...]:
    """Every way to lay these jobs of one kernel and dtype out, the best first; none where one size is all.

    The axis that varies alone; axes that are equal throughout, as one; else the bytes, unless these are the
    same for different sizes, and then the axis with the most sizes.
    """
    names = set(jobs[0].workload.sizes) if jobs else set[str]()  # a file may mix what has others
    workloads = {size_text(job.workload.sizes): job for job in jobs if set(job.workload.sizes) == names}
    if len(workloads) < 2:
        return ()
    all_sizes = [job.workload.sizes for job in workloads.values()]
    varying = [name for name in all_sizes[0] if len({sizes[name] for sizes in all_sizes}) > 1]
    if varying and all(len({sizes[name] for name in varying}) == 1 for sizes in all_sizes):
        return (SweepAxis(tuple(varying)), *_amounts(workloads.values()))
    single = [axis for name in reversed(varying) for axis in _axes_along(name, varying, all_sizes)]
    amounts = _amounts(workloads.values())
    found = [*amounts[:1], *single, *amounts[1:]]
    return tuple(sorted(found, key=lambda axis: -_count(axis, workloads.values())))


def _axes_along(name: str, varying: Sequence[str], all_sizes: Sequence[Sizes]) -> list[SweepAxis]:
    """At each choice of the other axes that has several sizes; at none, where all vary together."""
    others = [other for other in varying if other != name]
    groups: dict[tuple[int, ...], set[int]] = {}
    for sizes in all_sizes:
        groups.setdefault(tuple(sizes[other] for other in others), set()).add(sizes[name])
    found = [
        SweepAxis((name,), fixed=dict(zip(others, rest, strict=True)))
        for rest, values in groups.items()
        if len(values) > 1
    ]
    values = [sizes[name] for sizes in all_sizes]
    return found if found or len(set(values)) < len(values) else [SweepAxis((name,), beside=tuple(others))]


def _amounts(jobs: Iterable[Job]) -> list[SweepAxis]:
    axes = [SweepAxis(along=along) for along in Along]
    return [axis for axis in axes if _count(axis, jobs) > 1]


def _count(axis: SweepAxis, jobs: Iterable[Job]) -> int:
    """Places on an axis; amounts that are all but the same stand as one."""
    values = {axis.value(job) for job in jobs if axis.holds(job)}
    if axis.is_size:
        return len(values)
    return len({round(_STEPS * math.log2(value)) for value in values if value > 0})
