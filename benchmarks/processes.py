"""Measures how well numbers repeat: the same points in several processes, one after the other.

    python3 main.py -m roofscope.benchmarks.processes [--processes 5] [-- OPTIONS OF `main.py run`]

Prints a Markdown table: each point's least and greatest headline and their spread. Without options it
measures ten implementations of the library, float32, medium.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from roofscope.profiling.results.session_reader import load

ROOT = Path(__file__).parents[1]
MOST_SPREAD = 0.01
MOST_MEDIAN_SPREAD = 0.005
CHOICE = (
    *("vector_add", "weighted_sum", "gelu", "softmax", "matmul"),
    *("--provider", "eager", "--provider", "compile", "--preset", "medium"),
)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where a spread is over 1 %, or their median over 0.5 %."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("options", nargs="*", default=[])
    chosen = parser.parse_args(arguments)
    medians: dict[str, list[float]] = {}
    for _ in range(chosen.processes):
        for label, median_s in measure_once(chosen.options or CHOICE).items():
            medians.setdefault(label, []).append(median_s)
    print("| point | least us | greatest us | spread |")
    print("|---|---:|---:|---:|")
    spreads: list[float] = []
    for label, seconds in medians.items():
        least, greatest = min(seconds), max(seconds)
        spreads.append((greatest - least) / statistics.median(seconds))
        print(f"| {label} | {least * 1e6:.2f} | {greatest * 1e6:.2f} | {100 * spreads[-1]:.2f} % |")
    middle = statistics.median(spreads)
    print(
        f"\n{chosen.processes} processes: greatest {100 * max(spreads):.2f} %, median {100 * middle:.2f} %."
    )
    return 0 if max(spreads) <= MOST_SPREAD and middle <= MOST_MEDIAN_SPREAD else 1


def measure_once(options: Sequence[str]) -> dict[str, float]:
    """Median seconds by point, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "once.roofscope"
        command = [sys.executable, "main.py", "run", *options, "--out", str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if not path.exists():
            sys.exit(f"The run ended with code {done.returncode}:\n{done.stdout}{done.stderr}")
        points = load(path).points
    return {
        f"{point.implementation.kernel} {point.implementation.label} {point.job.workload.dtype}": (
            point.measured.time.median_s
        )
        for point in points
        if point.measured
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
