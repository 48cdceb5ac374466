"""Our best implementations beside eager, torch.compile and other people's kernels, each row with its goal.

    python3 main.py -m roofscope.benchmarks.peers [KERNEL[:SIZES] ...] [--session FILE] [--normal]

Prints Markdown; progress goes to stderr. The program's own engine times the implementations of a row in turn,
and the session file opens in the window. The same command goes on where it was ended, with the rows that FILE
lacks; --seconds ends it by itself, and --also names sessions of other cards, whose rows need not be measured
again. Without a GPU it prints what the files have. Needs for the libraries' times the extra `peers`.
Products and attention depend on what they multiply and on how hot the device is: --normal, --sustained.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from roofscope.benchmarks.answered import BELOW, FINE, NOTHING, UNFINISHED, CannotCompare, answers, by_job
from roofscope.benchmarks.peers.rows import ROWS, Row
from roofscope.benchmarks.peers.table import OURS, Found, Line, candidates, heading, judgements, markdown
from roofscope.benchmarks.recorded_jobs import record_jobs
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.paths import UserPaths, new_session_path
from roofscope.profiling.planning.catalog import Catalog, scan
from roofscope.profiling.planning.plan import Job, PlanError, Regime, SizeChoice, next_job_number, plan_jobs
from roofscope.profiling.planning.spec import Distribution
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_reader import load


class Planned(NamedTuple):
    """A row and the job that measures it."""

    row: Row
    job: Job


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where a goal is missed, 2 where nothing can be compared, 3 if rows are left."""
    chosen = _parser().parse_args(arguments)
    names = {name.partition(":")[0] for name in chosen.kernels}
    rows = [row for row in ROWS if not names or row.kernel in names]
    path = chosen.session or new_session_path(UserPaths.of_user().sessions)
    try:
        if not rows:
            raise CannotCompare("No row has such a kernel.")
        before = load(path) if path.exists() else None
        others = [load(other) for other in chosen.also]
        catalog, here = scan(), default_device(local_devices())
        plans = _plans(rows, catalog, chosen, here, before)
        if here.kind is DeviceKind.CUDA:
            known = done(plans, [*others, *([before] if before else [])])
            path = _measure_rest(plans, known, catalog, here, path, chosen.seconds)
        sessions = [*([load(path)] if path.exists() else []), *others]
        if not sessions:
            raise CannotCompare("There is no CUDA GPU here to compare on, and no session to print.")
    except (CannotCompare, PlanError, SessionError) as error:
        print(error, file=sys.stderr)
        return NOTHING
    found = done(plans, sessions)
    print(heading(sessions[0], "peers", arguments))
    print("\n".join(markdown(found)))
    if left := len(plans) - len(found):
        print(f"\n{left} of {len(plans)} rows are not measured yet; the same command goes on with them.")
    if not found:
        return NOTHING
    return BELOW if any(map(_falls_short, found)) else UNFINISHED if left else FINE


def done(plans: Sequence[Planned], sessions: Iterable[Session]) -> list[Found]:
    """The rows that have an outcome of every version, as its file is now.

    The newest of a session counts, and that of the first session which has one.
    """
    known = [(session, {_asked(points[0].job): points for points in by_job(session)}) for session in sessions]
    found: list[Found] = []
    for row, job in plans:
        for session, points_of in known:
            points = points_of.get(_asked(job), ())
            if points and answers(job, points):
                found.append(Found(Line(row, points[0].job, points), session))
                break
    return found


def _asked(job: Job) -> tuple[object, ...]:
    return job.workload.key, job.regime


def _measure_rest(
    plans: Sequence[Planned],
    known: Sequence[Found],
    catalog: Catalog,
    device: Device,
    path: Path,
    seconds: float,
) -> Path:
    """The file with the results. Raises SessionError, and CannotCompare where the device is not free."""
    asked = {_asked(one.line.job) for one in known}
    jobs = [job for _, job in plans if _asked(job) not in asked]
    print(f"{len(jobs)} of {len(plans)} rows are to be measured.", file=sys.stderr)
    if not jobs:
        return path
    ending = record_jobs(catalog, jobs, device, path, append=path.exists(), seconds=seconds)
    if reason := ending.busy or ending.unusable:
        raise CannotCompare(reason)
    return ending.path or path


def _plans(
    rows: Sequence[Row], catalog: Catalog, chosen: argparse.Namespace, here: Device, before: Session | None
) -> list[Planned]:
    """A job a row that is asked for.

    Raises CannotCompare where none is, and PlanError where a row asks for what its kernel has not.
    """
    fill = Distribution.NORMAL if chosen.normal else Distribution.UNIFORM
    regime = Regime.SUSTAINED if chosen.sustained else Regime.BURST
    device = ((before and before.device) or here).id
    first = next_job_number(before.jobs) if before else 1
    plans = [
        Planned(row, _job(row, catalog, device, number, fill, regime))
        for number, row in enumerate(rows, first)
    ]
    asked = [plan for plan in plans if _is_asked_for(plan.job, chosen.kernels)]
    if not asked:
        raise CannotCompare(f"No row has these sizes. There are: {', '.join(_name(p.job) for p in plans)}.")
    return asked


def _is_asked_for(job: Job, names: Sequence[str]) -> bool:
    return not names or job.workload.kernel in names or _name(job) in names


def _name(job: Job) -> str:
    """Such as softmax:8x131072."""
    return f"{job.workload.kernel}:{'x'.join(map(str, job.workload.sizes.values()))}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*", help="all if none; softmax:8x131072 is one row")
    parser.add_argument("--session", type=Path, help="the session file to write, or to go on with")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no row after so long")
    parser.add_argument("--also", type=Path, nargs="+", default=[], help="sessions of other cards")
    parser.add_argument("--normal", action="store_true", help="inputs from N(0, 1), not from [-1, 1]")
    parser.add_argument("--sustained", action="store_true", help="after 3 s and more of the same work")
    return parser


def _job(row: Row, catalog: Catalog, device: str, number: int, fill: Distribution, regime: Regime) -> Job:
    kernel = catalog.kernel(row.kernel)
    if kernel is None:
        raise LookupError(f"The library has no kernel {row.kernel!r}.")
    [job] = plan_jobs(
        [kernel],
        device=device,
        dtypes=[row.dtype],
        size_choices=[SizeChoice("large", row.sizes)],
        stems=candidates(kernel, row.dtype),
        fill=fill,
        regime=regime,
        first_id=number,
    )
    return job


def _falls_short(found: Found) -> bool:
    has_time = found.line.fastest(*OURS) is not None
    return not has_time or any(judgement.is_missed for judgement in judgements(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
