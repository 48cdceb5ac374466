"""Where the wall time of a run goes: the seconds of each stage, in the first job and in the others.

    python3 main.py -m roofscope.benchmarks.stage_times [KERNEL ...] [--dtype float32] [--preset large]

Prints a Markdown table. A stage lasts from where the worker says that it begins until the next one begins;
what comes before the first is the start of the worker, its imports and its context on the device. The first
job's build has the compilers' first work, too.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.planning.catalog import scan
from roofscope.profiling.planning.plan import SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recording import record
from roofscope.profiling.supervision.run_events import OutcomeArrived, Progressed, RunEvent

KERNELS = ("rms_norm", "bias_gelu", "swish", "row_sum")
START, REST = "start", "between jobs and end"


class Clock:
    """Adds up the seconds of each stage, of the first job and of the others."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self.points = 0
        self._jobs: set[str] = set()
        self._stage = START
        self._since = time.monotonic()

    def watch(self, event: RunEvent, _: object = None) -> None:
        if isinstance(event, OutcomeArrived):
            self.points += 1
            self._jobs.add(event.job.id)
        elif isinstance(event, Progressed):
            self.turn(str(event.stage) if event.stage else REST)

    def turn(self, stage: str) -> None:
        """Another stage begins."""
        now = time.monotonic()
        self.seconds[self._stage][min(len(self._jobs), 1)] += now - self._since
        self._stage, self._since = stage, now


def main(arguments: Sequence[str]) -> int:
    """Exit code 2 where nothing was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*", default=KERNELS)
    parser.add_argument("--dtype", type=Dtype, default=Dtype.FLOAT32)
    parser.add_argument("--preset", default="large")
    chosen = parser.parse_args(arguments)
    catalog, device = scan(), default_device(local_devices())
    kernels = [kernel for kernel in catalog.kernels if kernel.spec.name in chosen.kernels]
    sizes = [SizeChoice(chosen.preset)]
    jobs = plan_jobs(kernels, device=device.id, dtypes=[chosen.dtype], size_choices=sizes)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        path, cache = (
            Path(folder) / "stages.roofscope",
            CeilingCache(lambda text: print(text, file=sys.stderr)),
        )
        record(path, catalog, device, [Run(job) for job in jobs], clock.watch, cache)
    clock.turn(REST)
    print(f"{device.name}: {clock.points} points of {len(jobs)} jobs\n")
    print("| stage | first job, s | the others, s |\n|---|---:|---:|")
    for stage, (first_s, others_s) in clock.seconds.items():
        print(f"| {stage} | {first_s:.2f} | {others_s:.2f} |")
    sums = [sum(column) for column in zip(*clock.seconds.values(), strict=True)]
    print(f"| all | {sums[0]:.2f} | {sums[1]:.2f} |")
    return 0 if clock.points else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
