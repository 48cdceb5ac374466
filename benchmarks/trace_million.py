"""Opens a made trace of a million events: how long, how much memory, how often it says so, and a search.

    python -P main.py -m roofscope.benchmarks.trace_million [--events N] [--broken [--planted 50]] [--packed]

Each opening is a process of its own, so that its memory is its own; ``--repeats`` of them are run, and the
median and the worst are printed with the machine's load, which they are worth no more than. ``--broken``
plants unescaped quotes and control characters, each in so many operators, and a cut end; ``--packed`` opens a
`.json.gz`. Ends with 0 only where the median keeps each budget and, with ``--broken``, what `trace repair`
writes is sound.
"""

import argparse
import gzip
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from roofscope.profiling.paths import PACKAGE, module_command
from roofscope.tests.traces import Planted, write_trace


class Reading(Struct, frozen=True):
    """Of one opening."""

    open_s: float
    cpu_s: float
    peak_bytes: int
    longest_silence_s: float
    search_s: float
    found: int
    slices: int
    health: str


BUDGETS = (("open_s", 3.0), ("peak_bytes", 600e6), ("longest_silence_s", 0.1), ("search_s", 0.2))
SOUGHT = "softmax"


def measure(path: Path) -> Reading:
    """In the child: imports count for the start of the program, not for the opening."""
    from roofscope.profiling.traces.reading import open_trace

    said_at = [time.perf_counter()]

    def progress(_: float) -> None:
        said_at.append(time.perf_counter())

    cpu_s = time.process_time()
    trace = open_trace(path, progress)
    progress(1.0)
    cpu_s = time.process_time() - cpu_s
    began_at = time.perf_counter()
    found = sum(SOUGHT in name.lower() for name in trace.names)
    search_s = time.perf_counter() - began_at
    return Reading(
        said_at[-1] - said_at[0],
        cpu_s,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        max(later - sooner for sooner, later in pairwise(said_at)),
        search_s,
        found,
        len(trace.slices),
        str(trace.health),
    )


def _made(folder: Path, given: argparse.Namespace) -> Path:
    path = folder / "made.json"
    planted = (
        Planted(quotes=given.planted, controls=given.planted, is_cut=True) if given.broken else Planted()
    )
    write_trace(path, given.events, given.seed, planted)
    if not given.packed:
        return path
    packed = folder / "made.json.gz"
    with path.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as file:
        shutil.copyfileobj(plain, file, 1 << 20)
    return packed


def _show(readings: list[Reading]) -> bool:
    is_kept = True
    for field, budget in BUDGETS:
        values = [float(getattr(each, field)) for each in readings]
        median, worst = statistics.median(values), max(values)
        scale, unit = (1e-6, "MB") if field == "peak_bytes" else (1e3, "ms")
        is_kept &= median <= budget
        verdict = "kept" if median <= budget else "MISSED"
        name = field.rpartition("_")[0].replace("_", " ")
        figures = f"{median * scale:>9.0f} {unit}  worst {worst * scale:>7.0f}  of {budget * scale:.0f}"
        print(f"{name:<18}{figures}  {verdict}")
    return is_kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--planted", type=int, default=50)
    parser.add_argument("--packed", action="store_true")
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)  # in the child
    given = parser.parse_args()
    if given.open:
        print(msgspec.json.encode(measure(given.open)).decode())
        return
    with tempfile.TemporaryDirectory() as folder:
        path = _made(Path(folder), given)
        command = [*module_command("roofscope.benchmarks.trace_million"), "--open", str(path)]
        outputs = [subprocess.check_output(command) for _ in range(given.repeats)]
        readings = [msgspec.json.decode(output, type=Reading) for output in outputs]
        print(f"{given.events} events, {path.stat().st_size / 1e6:.0f} MB, {readings[0].slices} slices")
        print(f"{readings[0].health}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        is_kept = _show(readings)
        if given.broken:
            is_kept &= _is_repaired(path)
    sys.exit(0 if is_kept else 1)


def _is_repaired(path: Path) -> bool:
    """Whether what `trace repair` writes is sound and holds the same slices."""
    from roofscope.app.presentation.traces.health import health_text
    from roofscope.profiling.traces.reading import open_trace

    saved = path.with_name("repaired.json")
    began_at = time.perf_counter()
    subprocess.check_output(
        [sys.executable, "-P", str(PACKAGE / "main.py"), "trace", "repair", str(path), str(saved)]
    )
    taken_s = time.perf_counter() - began_at
    broken, sound = open_trace(path), open_trace(saved)
    is_same = (
        sound.health.is_sound and sound.names == broken.names and len(sound.slices) == len(broken.slices)
    )
    json.loads(saved.read_bytes())  # another reader's word for it
    print(f"badge: {health_text(broken.health)}")
    verdict = "sound" if is_same else "NOT SOUND"
    print(f"repaired in {taken_s:.1f} s, {saved.stat().st_size / 1e6:.0f} MB: {verdict}")
    return is_same


if __name__ == "__main__":
    main()
