"""How often intervals hold the truth and how often equals are called different, on a device that is played.

    python3 main.py -m roofscope.benchmarks.intervals [--trials 400] [--only NAME] [--mode quick]
        [--table comparisons]

Runs the program's own search for a rest, warm-up, rounds and comparisons. Timers and clock are played, so it
needs no GPU and no waiting. The table is in docs/statistics.md.
"""

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from roofscope.benchmarks.played_device import (
    BLOCK_S,
    CALLS,
    FULL_HZ,
    STREAMS,
    Condition,
    Device,
    PlayedTimer,
    played,
)
from roofscope.profiling.analysis.comparison import compare, compared_at_once
from roofscope.profiling.planning.plan import Quality, Regime
from roofscope.profiling.worker.timing.rounds import STOP_RULES, measure, warm_up, warm_up_rule
from roofscope.profiling.worker.timing.turn import ReadState, Turn


class Kernel(NamedTuple):
    factor: float = 1.0
    core: float = 1.0


def job(
    seed: int, stream: Callable[[Device], Iterator[Condition]], quality: Quality, kernels: Sequence[Kernel]
) -> list[Turn]:
    """One job as the executor runs it, from the search for a rest to the stop rule."""
    rng = random.Random(seed)
    random.seed(seed)  # the order within a round
    device = Device(rng, stream)
    read: ReadState = device.state
    turns = [Turn(PlayedTimer(device, kernel.factor, kernel.core)) for kernel in kernels]
    with played(device):
        warm_up(turns, warm_up_rule(quality, Regime.BURST), read, FULL_HZ)
        measure(turns, STOP_RULES[quality], read, lambda: None, before_longer_rests=lambda: None)
    return turns


class Coverage(NamedTuple):
    """Shares of the trials, and what a measurement took."""

    at_clock: float  # the interval holds the time at the clock that is given beside it
    at_full: float  # it holds the time at the clock of the fresh device
    half_width: float  # median, relative
    blocks: float  # median
    fewest: int
    longest_s: float


def coverage(
    stream: Callable[[Device], Iterator[Condition]], quality: Quality, trials: int, seed: int
) -> Coverage:
    at_clock = at_full = 0
    widths: list[float] = []
    counts: list[int] = []
    longest_s = 0.0
    for trial in range(trials):
        core = (0.0, 0.5, 1.0)[trial % 3]
        [turn] = job(seed + trial, stream, quality, [Kernel(core=core)])
        stats = turn.stats
        low_s, high_s = stats.bounds_s or (0.0, math.inf)
        full_s = BLOCK_S / CALLS
        at_s = full_s * ((stats.reference_hz or FULL_HZ) / FULL_HZ) ** -core
        at_clock += low_s <= at_s <= high_s
        at_full += low_s <= full_s <= high_s
        widths.append(turn.interval.relative_half_width)
        counts.append(len(stats.samples_s))
        longest_s = max(longest_s, turn.spent_s)
    return Coverage(
        at_clock / trials,
        at_full / trials,
        statistics.median(widths),
        statistics.median(counts),
        min(counts),
        longest_s,
    )


def called_different(
    stream: Callable[[Device], Iterator[Condition]],
    quality: Quality,
    kernels: Sequence[Kernel],
    trials: int,
    seed: int,
) -> float:
    """Share of jobs in which at least one implementation is called different from the fastest of them."""
    found = 0
    for trial in range(trials):
        stats = [turn.stats for turn in job(seed + trial, stream, quality, kernels)]
        fastest = min(stats, key=lambda one: one.median_s)
        at_once = compared_at_once(len(stats), chosen_from=len(stats))
        found += any(
            compare(fastest, one, in_turn=True, comparisons=at_once)[0].distinguishable
            for one in stats
            if one is not fastest
        )
    return found / trials


def found_slower(
    stream: Callable[[Device], Iterator[Condition]], quality: Quality, count: int, trials: int, seed: int
) -> float:
    """Share of jobs in which the one that takes 1 % longer is called slower than the fastest of the others.

    The interval allows for as many comparisons as a table of ``count`` makes with the fastest of them.
    """
    found = 0
    for trial in range(trials):
        planted, *equals = job(seed + trial, stream, quality, [PLANTED, *[Kernel()] * (count - 1)])
        fastest = min((turn.stats for turn in equals), key=lambda one: one.median_s)
        at_once = compared_at_once(count, chosen_from=count)
        found += compare(planted.stats, fastest, in_turn=True, comparisons=at_once)[0].low > 1.0
    return found / trials


PLANTED = Kernel(1.01)
COMPARED = (
    "white noise",
    "clock toggles by 2.5 %, 0.2 s at once",
    "clock toggles by 2.5 %, 0.6 s at once",
    "clock toggles by 2.5 %, 2 s at once",
    "sag of 2 to 14 %, reasons say nothing",
    "slowed by heat, always",
    "power cap, reported",
)


def print_coverage(streams: Sequence[str], qualities: Sequence[Quality], trials: int, seed: int) -> None:
    print(
        "| stream | mode | holds, at its clock | holds, at the fresh clock | half-width | blocks | longest |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, quality in product(streams, qualities):
        found = coverage(STREAMS[name], quality, trials, seed)
        print(
            f"| {name} | {quality} | {found.at_clock:.1%} | {found.at_full:.1%} "
            f"| ±{found.half_width:.2%} | {found.blocks:g} (least {found.fewest}) "
            f"| {found.longest_s:.1f} s |",
            flush=True,
        )


def print_comparisons(streams: Sequence[str], qualities: Sequence[Quality], trials: int, seed: int) -> None:
    """A job of ten takes long to play, and has a quarter of the trials."""
    print("| stream | mode | equals called different: a pair | ten | 1 % found: in a pair | among ten |")
    print("|---|---|---:|---:|---:|---:|")
    for name, quality in product((name for name in COMPARED if name in streams), qualities):
        counts = {2: trials, 10: max(trials // 4, 1)}
        shares = [
            called_different(STREAMS[name], quality, [Kernel()] * count, of_count, seed)
            for count, of_count in counts.items()
        ]
        shares += [
            found_slower(STREAMS[name], quality, count, of_count, seed) for count, of_count in counts.items()
        ]
        print(f"| {name} | {quality} | " + " | ".join(f"{share:.1%}" for share in shares) + " |", flush=True)


TABLES = {"coverage": print_coverage, "comparisons": print_comparisons}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of a stream's name")
    parser.add_argument("--mode", type=Quality, choices=list(Quality), help="both where it is left out")
    parser.add_argument("--table", choices=list(TABLES), help="both where it is left out")
    options = parser.parse_args()
    streams = [name for name in STREAMS if options.only in name]
    qualities = [options.mode] if options.mode else list(Quality)
    for table in [options.table] if options.table else TABLES:
        TABLES[table](streams, qualities, options.trials, options.seed)
        print()


if __name__ == "__main__":
    main()
