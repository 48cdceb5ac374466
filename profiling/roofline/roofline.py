"""Ceilings and what they allow; pure arithmetic (Williams, Waterman, Patterson 2009)."""

from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from roofscope.profiling.planning.spec import Dtype, Multiply, Pipe, Work
from roofscope.profiling.quantities import Hertz, Rate
from roofscope.profiling.roofline.conditions import Conditions


class Bound(StrEnum):
    """What a ceiling bounds: bytes of a memory level, or FLOPs of a pipe.

    An integer operation of INT8 and a result of the special functions count as one FLOP.
    """

    DRAM = "dram"
    L2 = "l2"
    FP64 = "fp64"
    FP64_TENSOR = "fp64 tensor"
    FP32 = "fp32"
    HALF2 = "half2"  # packed pairs on the vector units
    BFLOAT162 = "bfloat162"
    SPECIAL = "special functions"  # exp2, tanh, rsqrt and the like
    TF32 = "tf32"
    FP16 = "fp16"
    FP16_SUMS = "fp16 in fp16"  # the tensor pipe with sums in FP16, which GeForce does twice as fast
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"

    @property
    def is_memory(self) -> bool:
        return self in (Bound.DRAM, Bound.L2)

    @property
    def label(self) -> str:
        """For people: ``DRAM``, ``FP64 tensor``."""
        return _LABELS.get(self, self.upper())


_LABELS = {
    Bound.FP64_TENSOR: "FP64 tensor",
    Bound.HALF2: "half2",
    Bound.BFLOAT162: "bfloat162",
    Bound.SPECIAL: "special functions",
    Bound.FP16_SUMS: "FP16 in FP16",
}


class Source(StrEnum):
    """Where a ceiling's value comes from."""

    NAMEPLATE = "nameplate"
    NAMEPLATE_HELD = "nameplate at the clock held"
    MEASURED_BURST = "measured burst"
    MEASURED_SUSTAINED = "measured sustained"

    @property
    def is_measured(self) -> bool:
        return self in (Source.MEASURED_BURST, Source.MEASURED_SUSTAINED)

    @property
    def rank(self) -> int:
        """The lower, the better it is known: measured before promised."""
        return _BY_TRUST.index(self)


_BY_TRUST = (Source.MEASURED_BURST, Source.MEASURED_SUSTAINED, Source.NAMEPLATE_HELD, Source.NAMEPLATE)


class Mix(StrEnum):
    """Access mix of a memory ceiling."""

    READ = "read"
    WRITE = "write"
    COPY = "copy"
    TRIAD = "triad"


class Ceiling(Struct, frozen=True):
    """One limit of one device. ``value`` is byte/s for a memory bound, FLOP/s otherwise."""

    bound: Bound
    source: Source
    value: Rate
    method: str  # one sentence: how it was obtained
    device_uuid: str
    recorded_at: str  # ISO 8601, UTC
    mix: Mix | None = None
    clock_hz: Hertz | None = None  # the SM clock that gave ``value``: in band, or a formula's own
    conditions: Conditions | None = None  # of a measured one; older sessions have none

    @property
    def is_nameplate(self) -> bool:
        return not self.source.is_measured

    @property
    def flop_per_cycle(self) -> float | None:
        """What the pipe does in a cycle of the SM clock; None for a memory, and where no clock is known."""
        return self.value / self.clock_hz if self.clock_hz and not self.bound.is_memory else None

    @property
    def label(self) -> str:
        parts = [self.bound.label, str(self.mix) if self.mix else "", f"({self.source})"]
        return " ".join(part for part in parts if part)


def compute_bound(pipe: Pipe, dtype: Dtype, multiplies: Multiply | None = None) -> Bound:
    """The pipe whose ceiling bounds a kernel's arithmetic."""
    if pipe is Pipe.SPECIAL:
        return Bound.SPECIAL
    if pipe is Pipe.PACKED:
        return _PACKED.get(dtype, Bound.FP32)
    if pipe is Pipe.VECTOR:
        return Bound.FP32
    if multiplies:
        return Bound(multiplies)
    return {
        Dtype.FLOAT32: Bound.FP32,
        Dtype.FLOAT16: Bound.FP16,
        Dtype.BFLOAT16: Bound.BF16,
    }[dtype]


_PACKED = {Dtype.FLOAT16: Bound.HALF2, Dtype.BFLOAT16: Bound.BFLOAT162}


class Roof(Struct, frozen=True):
    """The ceiling that limits one point, and the least time it allows."""

    ceiling: Ceiling
    least_time_s: float

    def at_clock(self, clock_hz: float | None) -> "Roof | None":
        """This roof at the SM clock that a point held: as many FLOPs a cycle, fewer or more cycles a second.

        What is left to it is headroom of the kernel; the rest of what is left to the roof itself is the
        clock's. A memory's roof is the same, because DRAM and L2 run on clocks of their own. None where
        either clock is not known.
        """
        if self.ceiling.bound.is_memory:
            return self
        per_cycle = self.ceiling.flop_per_cycle
        if per_cycle is None or not clock_hz:
            return None
        scaled = replace(self.ceiling, value=per_cycle * clock_hz, clock_hz=clock_hz)
        return Roof(scaled, self.least_time_s * self.ceiling.value / scaled.value)


class Roofline(Struct, frozen=True, dict=True):
    """All ceilings of one device."""

    ceilings: tuple[Ceiling, ...]

    @cached_property
    def _sorted(self) -> dict[tuple[Bound, Source | None], tuple[Ceiling, ...]]:
        """Highest first, by bound with and without a source: every point of a session asks for some."""
        found: dict[tuple[Bound, Source | None], list[Ceiling]] = {}
        for ceiling in sorted(self.ceilings, key=lambda ceiling: -ceiling.value):
            for source in (None, ceiling.source):
                found.setdefault((ceiling.bound, source), []).append(ceiling)
        return {key: tuple(ceilings) for key, ceilings in found.items()}

    def of(self, bound: Bound, source: Source | None = None) -> tuple[Ceiling, ...]:
        """Ceilings of a bound, highest first; of one source where given."""
        return self._sorted.get((bound, source), ())

    def best(self, bound: Bound, measured: Source = Source.MEASURED_BURST) -> Ceiling | None:
        """The roof that is drawn: the highest one measured this way, else the other way, else the nameplate.

        It is the envelope over access mixes, because a triad-only roof makes correct kernels read 105 %.
        """
        for source in (measured, Source.MEASURED_BURST, Source.MEASURED_SUSTAINED, Source.NAMEPLATE):
            if found := self.of(bound, source):
                return found[0]
        return None

    def memory_ceiling(self, work: Work, measured: Source = Source.MEASURED_BURST) -> Ceiling | None:
        """The DRAM ceiling whose access mix is nearest to the work's own."""
        best = self.best(Bound.DRAM, measured)
        mixes = [c for c in self.of(Bound.DRAM, best.source) if c.mix] if best else []
        if not mixes or not work.byte_count:
            return best
        share = work.read_bytes / work.byte_count
        return min(mixes, key=lambda c: abs(_READ_SHARE[c.mix or Mix.COPY] - share))

    def limiter(self, work: Work, compute: Bound, measured: Source = Source.MEASURED_BURST) -> Roof | None:
        """The ceiling under which this work takes longest; None where nothing bounds it.

        ``measured`` is the kind of ceiling that fits the point's regime: under a burst ceiling, a sustained
        point would seem slow only because of its lower clock.
        """
        roofs: list[Roof] = []
        memory = self.memory_ceiling(work, measured)
        if memory and work.byte_count:
            roofs.append(Roof(memory, work.byte_count / memory.value))
        pipe = self.best(compute, measured)
        if pipe and work.flop_count:
            roofs.append(Roof(pipe, work.flop_count / pipe.value))
        return max(roofs, key=lambda roof: roof.least_time_s, default=None)


_READ_SHARE = {Mix.READ: 1.0, Mix.WRITE: 0.0, Mix.COPY: 0.5, Mix.TRIAD: 2 / 3}


def ridge_point(memory: Ceiling, compute: Ceiling) -> float:
    """Arithmetic intensity (FLOP/byte) at which both ceilings allow the same time."""
    return compute.value / memory.value


def attainable(intensity: float, memory: Ceiling, compute: Ceiling) -> float:
    """FLOP/s that the two ceilings allow at an arithmetic intensity."""
    return min(compute.value, intensity * memory.value)
