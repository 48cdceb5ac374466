"""What Nsight Compute's counters say of the limiters that a session names.

    python3 main.py -m roofscope.benchmarks.limiters SESSION [--count 20]

takes points of each verdict in turn, calls each once under ncu with cold caches and untouched clocks, and
prints the counters beside the verdict: confirmed, contradicted, or not covered where no counter can tell. It
needs the GPU of the session and the right to read counters.
"""

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from roofscope.profiling.analysis.verdict import Verdict, VerdictKind, verdict
from roofscope.profiling.devices.nsight_compute import MISSING, find_ncu
from roofscope.profiling.paths import module_command
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.supervision.ncu_table import read_table

_CHILD = "roofscope.benchmarks.limiters_child"
_SECTIONS = (
    "SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats", "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables", "InstructionStats",
)  # fmt: skip
_TIME, _DRAM = "gpu__time_duration.sum", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
_SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
_L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
_TRAFFIC = ("dram__bytes_read.sum", "dram__bytes_write.sum")
_WAVES = "launch__waves_per_multiprocessor"
_STALL, _STALL_END = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
_NEAR = 60.0  # percent of a peak, as NEAR_ROOF
_SHORT_S = 10e-6  # a call under ncu starts on an empty, cold device: the first microseconds are no rate
_MEMORY_STALLS = ("long_scoreboard", "lg_throttle", "drain", "mio_throttle", "membar")
_ROOFS = (VerdictKind.MEMORY_BOUND, VerdictKind.COMPUTE_BOUND)
_UNSUITED = (VerdictKind.SKIPPED, VerdictKind.FAILED, VerdictKind.CANCELLED, VerdictKind.LAUNCH_BOUND)


class Counters(NamedTuple):
    """Of the kernels of one call, weighted by their times; shares in percent of a peak."""

    kernels: int
    seconds: float
    longest: float  # share of the longest kernel in the sum
    dram: float
    l2: float
    sm: float
    waves: float
    traffic_bytes: float
    local_requests: float
    fp64: float
    stall: str  # for which warps wait longest


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Hold a session's limiters against ncu's counters.")
    parser.add_argument("session", type=Path)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args(arguments)
    ncu = find_ncu()
    if ncu is None:
        sys.exit(MISSING)
    session = load(options.session)
    chosen = choose(session, options.count)
    groups = _run(ncu, options.session, [point.number for point, _ in chosen])
    if len(groups) != len(chosen):
        sys.exit(f"ncu saw {len(groups)} groups of kernels for {len(chosen)} points.")
    print(f"{'point':<62}{'verdict':<20}{'ncu':<14}figures")
    tally: dict[str, int] = defaultdict(int)
    for (point, judged), rows in zip(chosen, groups, strict=True):
        answer, figures = confirm(point, judged, counters(rows))
        tally[answer] += 1
        name = f"{point.number} {point.implementation.key} {point.job.workload.label}"
        print(f"{name[:60]:<62}{judged.kind:<20}{answer:<14}{figures}")
    print(", ".join(f"{count} {answer}" for answer, count in tally.items()))


def choose(session: Session, count: int) -> list[tuple[Point, Verdict]]:
    """Points of each verdict in turn, each kernel as seldom as can be, slow ones (over 50 ms) left out."""
    by_kind: dict[VerdictKind, list[tuple[Point, Verdict]]] = defaultdict(list)
    for point in session.points:
        judged = verdict(point, session)
        if point.measured and point.measured.time.median_s < 0.05 and judged.kind not in _UNSUITED:
            by_kind[judged.kind].append((point, judged))
    chosen: list[tuple[Point, Verdict]] = []
    seen: dict[str, int] = defaultdict(int)
    while len(chosen) < count and any(by_kind.values()):
        for waiting in by_kind.values():
            if waiting and len(chosen) < count:
                one = min(waiting, key=lambda pair: seen[pair[0].job.workload.kernel])
                waiting.remove(one)
                seen[one[0].job.workload.kernel] += 1
                chosen.append(one)
    return chosen


def _run(ncu: str, session: Path, numbers: Sequence[int]) -> list[Sequence[Mapping[str, str]]]:
    """The kernels of each point."""
    sections = [word for section in _SECTIONS for word in ("--section", section)]
    command = [
        ncu, "--csv", "--page", "raw", "--print-units", "base", *sections, "--clock-control", "none",
        "--cache-control", "all", "--profile-from-start", "off", *module_command(_CHILD),
        str(session), *map(str, numbers),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stderr[-2000:], file=sys.stderr)
    if done.returncode:
        sys.exit(f"ncu ended with code {done.returncode}.\n{done.stdout[-3000:]}")
    return [table.rows for table in read_table(done.stdout).groups()]


def counters(rows: Sequence[Mapping[str, str]]) -> Counters | None:
    """None where no kernel ran."""
    times = [_figure(row, _TIME) for row in rows]
    total = sum(times)
    if not total:
        return None

    def mean(name: str) -> float:
        return sum(time * _figure(row, name) for time, row in zip(times, rows, strict=True)) / total

    stalls: dict[str, float] = defaultdict(float)
    for time, row in zip(times, rows, strict=True):
        for name in row:
            if name.startswith(_STALL) and name.endswith(_STALL_END) and "not_issued" not in name:
                stalls[name.removeprefix(_STALL).removesuffix(_STALL_END)] += time * _figure(row, name)
    stalls.pop("selected", None)
    return Counters(
        kernels=len(rows),
        seconds=total * 1e-9,
        longest=100 * max(times) / total,
        dram=mean(_DRAM),
        l2=mean(_L2),
        sm=mean(_SM),
        waves=mean(_WAVES),
        traffic_bytes=sum(_figure(row, name) for row in rows for name in _TRAFFIC),
        local_requests=sum(sum(_matching(row, "l1tex__t_requests", "mem_local")) for row in rows),
        fp64=max(max(_matching(row, "sm__", "pipe_fp64", ".pct_of"), default=0.0) for row in rows),
        stall=max(stalls, key=lambda name: stalls[name], default=""),
    )


def confirm(point: Point, judged: Verdict, found: Counters | None) -> tuple[str, str]:
    """``confirmed``, ``contradicted`` or ``not covered``, and the figures that say so."""
    if found is None:
        return "not covered", "no kernel was seen"
    compulsory = point.job.work.byte_count
    again = found.traffic_bytes / compulsory if compulsory and found.traffic_bytes else 0.0
    facts = {
        VerdictKind.MEMORY_BOUND: found.dram >= _NEAR,
        VerdictKind.COMPUTE_BOUND: found.sm >= _NEAR,
        VerdictKind.UNKNOWN: found.dram < _NEAR,
        VerdictKind.WAITS_FOR_MEMORY: found.stall in _MEMORY_STALLS or again >= 1.5,
        VerdictKind.LITTLE_WORK: found.waves > 1 and found.dram < _NEAR,
        VerdictKind.DOUBLE_ARITHMETIC: found.fp64 >= _NEAR / 2,
        VerdictKind.SPILLS: found.local_requests > 0,
        VerdictKind.PARTIAL_WAVES: found.waves < 1 or found.waves % 1 > 0,
        VerdictKind.SEVERAL_KERNELS: found.kernels > 1 and found.longest < 75,
        VerdictKind.LAUNCH_LATENCY: found.seconds < 5e-6,
        VerdictKind.CORE_BOUND: found.dram < _NEAR,  # the caches run at the cores' clock, DRAM does not
        VerdictKind.ON_CHIP: found.dram < _NEAR,
    }
    is_short = judged.kind in _ROOFS and found.seconds < _SHORT_S
    holds = None if is_short else facts.get(judged.kind)
    figures = (
        f"{found.seconds * 1e6:.1f} us in {found.kernels}, DRAM {found.dram:.0f} %, L2 {found.l2:.0f} %, "
        f"SM {found.sm:.0f} %, traffic {again:.2f}x, waves {found.waves:.1f}, fp64 {found.fp64:.0f} %, "
        f"local {found.local_requests:.0f}, waits for {found.stall}"
    )
    return ("not covered" if holds is None else "confirmed" if holds else "contradicted"), figures


def _matching(row: Mapping[str, str], *parts: str) -> Iterator[float]:
    yield from (_figure(row, name) for name in row if all(part in name for part in parts))


def _figure(row: Mapping[str, str], name: str) -> float:
    try:
        return float((row.get(name) or "0").replace(",", ""))
    except ValueError:  # n/a
        return 0.0


if __name__ == "__main__":
    main(sys.argv[1:])
