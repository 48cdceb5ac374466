"""What a GPU's counters said of a point, as columns of an export."""

from collections.abc import Mapping

from roofscope.profiling.analysis.traffic import moved
from roofscope.profiling.results.counters import Counters, Level
from roofscope.profiling.results.session import Point, Session

_TYPES = ("fp32", "fp64", "fp16")  # whose instructions are counted outside of tensor cores


def counted_cells(point: Point, session: Session) -> Mapping[str, object]:
    """Bytes, FLOPs and shares of one call; None where nothing was counted, or not that."""
    found = moved(point, session)
    counters = found.counters if found else None
    intensity = {level.level: level.intensity for level in found.levels} if found else {}
    flops = _executed(counters)
    return {
        "counted_by": counters.counted_by if counters else None,
        "counted_dram_read_bytes": counters.dram_read_bytes if counters else None,
        "counted_dram_write_bytes": counters.dram_write_bytes if counters else None,
        "counted_l2_bytes": counters.l2_bytes if counters else None,
        "counted_l1_bytes": counters.l1_bytes if counters else None,
        "counted_dram_ratio": found.ratio if found else None,
        **{
            f"counted_{level.lower()}_intensity_flop_per_byte": intensity.get(level)
            for level in (Level.DRAM, Level.L2, Level.L1)
        },
        **{f"executed_{name}_flop_count": flops.get(name) for name in _TYPES},
        "achieved_occupancy": counters.occupancy if counters else None,
    }


def _executed(counters: Counters | None) -> Mapping[str, float]:
    """By type; empty where a call ran more kernels than are kept one by one."""
    if counters is None or counters.kernel_count > len(counters.kernels):
        return {}
    return {name.lower(): count for name, count in counters.flops.items()}
