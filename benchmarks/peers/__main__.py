"""Our best implementations beside eager, torch.compile and other people's kernels, each row with its goal.

    python3 main.py -m roofscope.benchmarks.peers [KERNEL ...] [--session FILE] [--normal] [--sustained]

Prints Markdown; progress goes to stderr. The program's own engine times the implementations of a row in turn,
and the session file opens in the window. Needs a CUDA GPU, and for the libraries' times the extra `peers`.
Products and attention depend on what they multiply and on how hot the device is: --normal, --sustained.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from roofscope.benchmarks.peers.rows import ROWS, Row
from roofscope.benchmarks.peers.table import OURS, Line, candidates, heading, judgements, markdown
from roofscope.benchmarks.recorded_jobs import record_jobs
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.paths import UserPaths, new_session_path
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job, Regime, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Distribution
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import load


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where a goal is missed or we have no time at all, 2 where nothing can be compared."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--session", type=Path, help="the session file to write")
    parser.add_argument("--normal", action="store_true", help="inputs from N(0, 1), not from [-1, 1]")
    parser.add_argument("--sustained", action="store_true", help="after 3 s and more of the same work")
    chosen = parser.parse_args(arguments)
    fill = Distribution.NORMAL if chosen.normal else Distribution.UNIFORM
    regime = Regime.SUSTAINED if chosen.sustained else Regime.BURST
    rows = [row for row in ROWS if not chosen.kernels or row.kernel in chosen.kernels]
    device = default_device(local_devices())
    if not rows or device.kind is not DeviceKind.CUDA:
        reason = "No row has such a kernel." if not rows else "There is no CUDA GPU here to compare on."
        print(reason, file=sys.stderr)
        return 2
    path = chosen.session or new_session_path(UserPaths.of_user().sessions)
    lines, session = measure(rows, device, path, fill, regime)
    print(heading(session, "peers", arguments))
    print("\n".join(markdown(lines, session)))
    return 1 if any(_falls_short(line, session) for line in lines) else 0


def measure(
    rows: Sequence[Row], device: Device, path: Path, fill: Distribution, regime: Regime
) -> tuple[list[Line], Session]:
    """Measure one job a row, all in one session."""
    catalog = scan()
    jobs = [_job(row, catalog, device, number, fill, regime) for number, row in enumerate(rows, start=1)]
    record_jobs(catalog, jobs, device, path)
    session = load(path)
    lines = [
        Line(row, job, tuple(point for point in session.points if point.job.id == job.id))
        for row, job in zip(rows, jobs, strict=True)
    ]
    return lines, session


def _job(row: Row, catalog: Catalog, device: Device, number: int, fill: Distribution, regime: Regime) -> Job:
    kernel = catalog.kernel(row.kernel)
    if kernel is None:
        raise LookupError(f"The library has no kernel {row.kernel!r}.")
    [job] = plan_jobs(
        [kernel],
        device=device.id,
        dtypes=[row.dtype],
        size_choices=[SizeChoice("large", row.sizes)],
        stems=candidates(kernel, row.dtype),
        fill=fill,
        regime=regime,
        first_id=number,
    )
    return job


def _falls_short(line: Line, session: Session) -> bool:
    has_time = line.fastest(*OURS) is not None
    return not has_time or any(judgement.is_missed for judgement in judgements(line, session))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
