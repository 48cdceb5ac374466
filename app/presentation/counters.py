"""What was counted of a point, in words: one sentence, a row a memory, what runs, and what warps wait for."""

from typing import NamedTuple

from roofscope.app.presentation.fact import Fact, Section, section
from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    counted_text,
    flop_count_text,
    intensity_text,
    percent_text,
    ratio_text,
    si_text,
    traffic_text,
)
from roofscope.app.presentation.verdict_text import ceiling_value_text
from roofscope.profiling.analysis.traffic import MUCH_MORE, LevelTraffic, Moved, moved
from roofscope.profiling.results.counters import Counters, Level, Stall
from roofscope.profiling.results.session import Point, Session

_AS_MUCH = 0.03  # of the compulsory bytes: what "as many" leaves open
_SUMMED = "all"  # the tensor pipe's count of all kinds
_DRAM_TIP = "A mean over calls on rotated buffers, as the headline has them"
_CACHE_TIP = "Of one call with flushed caches, by Nsight Compute"
_REPORT_TIP = "As the options of the run that wrote the report had its caches"
_STALLS = {
    "long_scoreboard": "memory beyond L1",
    "short_scoreboard": "shared memory or special functions",
    "lg_throttle": "room for more loads",
    "mio_throttle": "room for shared memory and special functions",
    "tex_throttle": "room at the texture unit",
    "math_pipe_throttle": "a busy arithmetic pipe",
    "barrier": "other warps at a barrier",
    "membar": "a memory barrier",
    "gmma": "tensor cores",
    "wait": "a fixed latency",
    "drain": "stores at the end",
    "no_instruction": "instructions to be fetched",
    "branch_resolving": "a branch",
    "imc_miss": "constants to be fetched",
    "dispatch_stall": "the dispatcher",
    "sleeping": "its own sleep",
}
COUNTERS = "Counters"  # the title of the section
COLUMNS = ("memory", "moved", "of must", "rate", "ceiling", "share", "intensity")


class LevelRow(NamedTuple):
    """A row of the table, under COLUMNS."""

    level: str
    moved: str
    of_must: str
    rate: str
    ceiling: str
    share: str
    intensity: str


def counted_sentence(found: Moved) -> str:
    """``It moves 1.02× the bytes it must: ...``."""
    counted, must = found.counters.dram_bytes, found.compulsory_bytes
    if counted is None:
        return "This GPU's profiler has no counter of DRAM's bytes."
    if found.ratio is None:
        return f"It moves {traffic_text(counted)} of DRAM; what it must move is not known."
    amounts = f"{traffic_text(counted)} of DRAM, {traffic_text(must)} compulsory"
    if found.counters.report:  # flushed caches, if they were, explain as much
        return f"It moves {ratio_text(found.ratio)} the bytes it must: {amounts}."
    if found.ratio >= MUCH_MORE:
        return (
            f"It moves {ratio_text(found.ratio)} the bytes it must: {amounts}. Fewer kernels, or tiles that "
            "stay in a cache, would spare the rest."
        )
    if found.ratio < 1 - _AS_MUCH:
        return (
            f"It moves {ratio_text(found.ratio)} the compulsory bytes: {amounts}. A cache keeps the rest "
            "from call to call, or its formula counts bytes that it need not touch."
        )
    return f"It moves {ratio_text(found.ratio)} the bytes it must: {amounts}."


def level_rows(found: Moved) -> tuple[LevelRow, ...]:
    """What must be moved, then each memory from DRAM on."""
    must = LevelRow(
        "compulsory",
        traffic_text(found.compulsory_bytes),
        of_must="",
        rate="",
        ceiling="",
        share="",
        intensity=intensity_text(found.compulsory_intensity),
    )
    return (must, *(_row(level, found) for level in found.levels))


def _row(level: LevelTraffic, found: Moved) -> LevelRow:
    ratio = level.byte_count / found.compulsory_bytes if found.compulsory_bytes else None
    return LevelRow(
        str(level.level),
        traffic_text(level.byte_count),
        ratio_text(ratio),
        bandwidth_text(level.byte_per_s),
        ceiling_value_text(level.ceiling) if level.ceiling else MISSING,
        percent_text(level.share),
        intensity_text(level.intensity),
    )


def counted_section(point: Point, session: Session) -> Section:
    """For the details of a point; empty where nothing was counted."""
    found = moved(point, session)
    if found is None:
        return section(COUNTERS)
    counters = found.counters
    return section(
        COUNTERS,
        Fact("Moved", ratio_text(found.ratio), counted_sentence(found)),
        *(Fact(str(level.level), _level_text(level), _level_tip(level, counters)) for level in found.levels),
        Fact("Executed", executed_text(counters), "FLOPs outside of tensor cores; a multiply-add is two"),
        Fact("Tensor cores", tensor_text(counters), "Instructions of warps, or of groups of four"),
        Fact(
            "Occupancy", percent_text(counters.occupancy), "Achieved: warps that were resident, of the most"
        ),
        Fact("Warps wait for", stalls_text(counters.stalls), "Cycles between two instructions of a warp"),
        Fact("Kernels", counted_text(counters.kernel_count, "kernel")),
        Fact("Counted by", counters.counted_by, counters.problem),
    )


def _level_tip(level: LevelTraffic, counters: Counters) -> str:
    if counters.report:
        return _REPORT_TIP
    return _DRAM_TIP if level.level is Level.DRAM else _CACHE_TIP


def instrument_sentence(counters: Counters) -> str:
    """What counted, and in which state the caches were."""
    calls = counted_text(counters.calls, "call")
    if counters.report:
        return (
            f"{counters.counted_by}, {calls}: whether caches were flushed before each kernel, the run "
            "that wrote the report decided."
        )
    return f"{counters.instrument}; DRAM over {calls} on rotated buffers."


def _level_text(level: LevelTraffic) -> str:
    parts = (
        traffic_text(level.byte_count),
        bandwidth_text(level.byte_per_s),
        intensity_text(level.intensity),
    )
    return ", ".join(part for part in parts if part != MISSING)


def executed_text(counters: Counters) -> str:
    """``16.8 MFLOP FP32``; "" where none ran outside of tensor cores."""
    return ", ".join(f"{flop_count_text(count)} {name}" for name, count in counters.flops.items())


def tensor_text(counters: Counters) -> str:
    """``1.05 M HMMA``; the sum of all kinds only where no kind was counted."""
    found = counters.tensor_instructions
    kinds = {name: count for name, count in found.items() if name != _SUMMED} or found
    return ", ".join(
        f"{si_text(count, '').strip()}{'' if name == _SUMMED else f' {name}'}"
        for name, count in kinds.items()
    )


def stalls_text(stalls: tuple[Stall, ...], most: int = 3) -> str:
    """``memory beyond L1 (12.1), a fixed latency (2.0)``."""
    return ", ".join(
        f"{_STALLS.get(stall.reason, stall.reason.replace('_', ' '))} ({stall.cycles:.1f})"
        for stall in stalls[:most]
    )
