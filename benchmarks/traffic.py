"""Bytes of DRAM estimated from times, beside those that Nsight Compute counted.

    python3 main.py -m roofscope.benchmarks.traffic SESSION [--count] [--curves FILE] [--log FILE]

prints a Markdown table of each point of the session that was counted: compulsory bytes, the bounds, the
estimate, the counted bytes and the ratio of both. --count first counts all points of at least 64 MB that were
not, --curves measures the time of small points by how many sets of buffers lie between two uses, 1 to 2000,
and writes them as JSON; both need the GPU of the session.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from roofscope.profiling.analysis.traffic_estimate import Reuse, estimate_of, held_bytes
from roofscope.profiling.decoding import decode
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.paths import module_command
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.supervision.counting import CannotCount, CountRequest, count, count_request
from roofscope.profiling.supervision.tracing import CannotTrace

_CHILD = "roofscope.benchmarks.traffic_child"
_LEAST_BYTES = 64e6
_GOAL = 0.1  # of the counted bytes


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("session", type=Path)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--most", type=int, default=24, help="points to count or to draw curves of")
    parser.add_argument("--curves", type=Path)
    parser.add_argument("--log", type=Path)
    chosen = parser.parse_args(arguments)
    try:
        if chosen.count:
            _count(chosen.session, chosen.most, chosen.log)
        if chosen.curves:
            _measure_curves(chosen.session, chosen.most, chosen.curves)
        print_table(load(chosen.session))
    except SessionError as error:
        sys.exit(str(error))


def print_table(session: Session) -> None:
    """One row a counted point, in MB, and how many estimates are within a tenth."""
    print("| point | compulsory | bounds | estimate | counted | estimate / counted | counted / compulsory |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    near = missed = unknown = outside = 0
    for point in session.points:
        counters, found = session.counters.get(point.number), estimate_of(point, session)
        counted = counters.dram_bytes if counters else None
        if found is None or not counted:
            continue
        work = point.job.work.byte_count
        outside += not 0.97 * found.low <= counted <= 1.03 * found.high
        ratio = found.estimate / counted if found.estimate else None
        unknown += ratio is None
        near += ratio is not None and abs(ratio - 1) <= _GOAL
        missed += ratio is not None and abs(ratio - 1) > _GOAL
        estimate = f"{found.estimate / 1e6:.0f}" if found.estimate else "-"
        print(
            f"| {point.implementation.key} {point.job.workload.label} | {work / 1e6:.0f} | "
            f"{found.low / 1e6:.0f} to {found.high / 1e6:.0f} | {estimate} | {counted / 1e6:.0f} | "
            f"{f'{ratio:.3f}' if ratio else '-'} | {counted / work:.3f} |"
        )
    print(
        f"\n{near} estimates within {_GOAL:.0%}, {missed} not, {unknown} points with bounds alone; "
        f"{outside} counted outside of their bounds by more than 3 %."
    )


def _count(path: Path, most: int, log: Path | None) -> None:
    session, catalog, devices = load(path), scan(), local_devices()
    large = [
        point
        for point in session.points
        if point.measured
        and point.job.work.byte_count >= _LEAST_BYTES
        and point.number not in session.counters
    ][:most]
    asked = [(point, request) for point in large if (request := _request(session, point, catalog, devices))]
    device = session.own_device(devices)
    if device is None or not asked:
        sys.exit("There is nothing to count here.")
    try:
        found = count([request for _, request in asked], device, log=log)
    except CannotCount as error:
        sys.exit(str(error))
    with SessionStore.append(path, session) as store:
        for (point, _), counted in zip(asked, found, strict=True):
            if isinstance(counted, Counters):
                store.add_counters(point.number, counted)
            else:
                print(f"{point.number} {point.implementation.key}: {counted}", file=sys.stderr)


def _request(
    session: Session, point: Point, catalog: Catalog, devices: Sequence[Device]
) -> CountRequest | None:
    try:
        request, _ = count_request(session, point, catalog, devices)
    except CannotTrace as error:
        print(error, file=sys.stderr)
        return None
    return request


def _measure_curves(path: Path, most: int, target: Path) -> None:
    session = load(path)
    held = [
        point
        for point in session.points
        if point.measured and point.measured.hot and 10e6 < point.job.work.byte_count < _LEAST_BYTES
    ][:most]
    numbers = [str(point.number) for point in held]
    with target.open("wb") as out:
        subprocess.run([*module_command(_CHILD), str(path), *numbers], stdout=out, check=False)
    for line in target.read_bytes().splitlines():
        number, byte_count, curve = decode(line, tuple[int, int, tuple[Reuse, ...]])
        point = next(point for point in held if point.number == number)
        kept = held_bytes(curve, byte_count)
        times = " ".join(f"{one.sets}:{one.seconds * 1e6:.2f}" for one in curve)
        print(
            f"{point.implementation.key} {byte_count / 1e6:.1f} MB a set, L2 holds "
            f"{f'{kept / 1e6:.0f} MB' if kept else 'no telling'}; us by sets: {times}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
