"""Our best versions beside eager, torch.compile and libraries at sizes drawn at random.

    python3 main.py -m roofscope.benchmarks.shapes [KERNEL ...] --seed N [--shapes 40] [--peers PEER ...]

Prints Markdown: a row a shape, then the worst ratio of each kernel against each peer; progress goes to
stderr. The same command goes on where it was ended, with the shapes that FILE (--session) lacks; --seconds
ends it by itself, and --also names sessions of other cards, whose shapes need not be measured again. Without
a GPU it prints what FILE has.

--glance times a few blocks, without intervals and without a session, in processes that compile side by
side: a fraction of a second a shape, after the time of the compilers.
"""

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from roofscope.benchmarks.answered import BELOW, FINE, NOTHING, UNFINISHED, CannotCompare
from roofscope.benchmarks.peers.rows import ROWS
from roofscope.benchmarks.peers.table import OURS, heading
from roofscope.benchmarks.recorded_jobs import record_jobs
from roofscope.benchmarks.shapes.drawing import CannotDraw
from roofscope.benchmarks.shapes.glance import Seen, Task, look, task_of
from roofscope.benchmarks.shapes.glance import markdown as glanced
from roofscope.benchmarks.shapes.lines import Measured, Planned, done, planned, usual_dtype
from roofscope.benchmarks.shapes.summary import LEAST, falls_short, markdown
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.discovery import default_device, local_devices
from roofscope.profiling.paths import UserPaths, new_session_path
from roofscope.profiling.planning.catalog import Catalog, Kernel, scan
from roofscope.profiling.planning.plan import PlanError, next_job_number
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.supervision.recording import Ceilings


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where ours is too slow at a shape, 2 where nothing can be compared, 3 if some are left."""
    chosen = _parser().parse_args(arguments)
    catalog = scan()
    path = chosen.session or new_session_path(UserPaths.of_user().sessions)
    try:
        kernels = chosen_kernels(catalog, chosen.kernels)
        _require_peers(kernels, chosen.peers)
        before = load(path) if path.exists() else None
        others = [load(other) for other in chosen.also]
        here = default_device(local_devices())
        device = _device(here, before)
        plans = _plans(kernels, chosen, device, before)
        if chosen.glance and device is here:
            return _glance(catalog, plans, chosen)
        if device is here:
            known = done(plans, [*others, *([before] if before else [])])
            path = _measure_rest(catalog, plans, known, device, path, chosen.seconds)
        session = load(path)
    except (CannotCompare, CannotDraw, PlanError, SessionError) as error:
        print(error, file=sys.stderr)
        return NOTHING
    return report(done(plans, [*others, session]), len(plans), session, arguments)


def chosen_kernels(catalog: Catalog, names: Sequence[str]) -> list[Kernel]:
    """Those named, or those of the comparison with other people's kernels. Raises CannotCompare."""
    kernels: list[Kernel] = []
    for name in dict.fromkeys(names or (row.kernel for row in ROWS)):
        kernel = catalog.kernel(name)
        if kernel is None:
            raise CannotCompare(f"The library has no kernel {name!r}.")
        kernels.append(kernel)
    return kernels


def _require_peers(kernels: Sequence[Kernel], named: Sequence[str]) -> None:
    """Raises CannotCompare where none of the kernels has one of these."""
    known = {one.stem for kernel in kernels for one in kernel.implementations if one.provider not in OURS}
    if strangers := [peer for peer in named if peer not in known]:
        raise CannotCompare(
            f"No kernel here has a peer {strangers[0]!r}; peers are {', '.join(sorted(known))}."
        )


def report(
    measured: Sequence[Measured], planned_count: int, session: Session, arguments: Sequence[str]
) -> int:
    """Print the tables; the exit code."""
    print(heading(session, "shapes", arguments))
    print("\n".join(markdown(measured)))
    if left := planned_count - len(measured):
        print(f"\n{left} of {planned_count} shapes are not measured yet; the same command goes on with them.")
    if not measured:
        return NOTHING
    return BELOW if any(map(falls_short, measured)) else UNFINISHED if left else FINE


def _glance(catalog: Catalog, plans: Sequence[Planned], chosen: argparse.Namespace) -> int:
    """Look at all shapes and print what was seen; the exit code."""
    tasks: list[Task] = []
    for plan in plans:
        workload, kernel = plan.job.workload, catalog.kernel(plan.job.workload.kernel)
        assert kernel is not None
        versions = plan.job.implementations
        tasks.append(
            task_of(
                workload.kernel, workload.dtype, plan.shape.number, plan.shape.kind, workload.sizes, versions
            )
        )
    seen: list[Seen] = []
    for one in look(tasks, chosen.processes, chosen.seconds):
        seen.append(one)
        print(f"{one.task.kernel} {one.task.label}: {one.ratio:.3f}", file=sys.stderr)
    print("\n".join(glanced(seen)))
    if left := len(tasks) - len(seen):
        print(f"\n{left} of {len(tasks)} shapes were not looked at.")
    if not seen:
        return NOTHING
    return BELOW if any(one.ratio < LEAST for one in seen) else UNFINISHED if left else FINE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="*", help="those of the peers' comparison if none")
    parser.add_argument("--seed", type=int, required=True, help="the same shapes for the same seed")
    parser.add_argument("--shapes", type=_count, default=40, help="of each kernel")
    parser.add_argument(
        "--peers", nargs="+", default=[], metavar="PEER", help="such as eager compile_default; all if none"
    )
    parser.add_argument("--dtype", type=Dtype, help="the kernel's usual one if none")
    parser.add_argument("--session", type=Path, help="the session file to write, or to go on with")
    parser.add_argument("--also", type=Path, nargs="+", default=[], help="sessions of other cards")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no shape after so long")
    parser.add_argument("--glance", action="store_true", help="quickly, and without a session")
    parser.add_argument("--processes", type=_count, default=min(os.cpu_count() or 1, 16), help="of a glance")
    return parser


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def _device(here: Device, before: Session | None) -> Device:
    """The GPU here, or that of the session if there is none. Raises CannotCompare."""
    known = before.device if before else None
    if here.kind is not DeviceKind.CUDA:
        if known is None:
            raise CannotCompare("There is no CUDA GPU here to compare on, and no session to print.")
        return known
    if before and known and known.uuid != here.uuid:
        raise CannotCompare(
            f"{before.path} has results of another card, {known.name}: name it by --also, and another file "
            "by --session."
        )
    return here


def _plans(
    kernels: Sequence[Kernel], chosen: argparse.Namespace, device: Device, before: Session | None
) -> list[Planned]:
    """Kernel by kernel; a kernel has the same shapes whatever others there are."""
    plans: list[Planned] = []
    first = next_job_number(before.jobs) if before else 1
    for kernel in kernels:
        dtype = chosen.dtype or usual_dtype(kernel)
        if dtype not in kernel.spec.dtypes:
            raise CannotCompare(f"{kernel.spec.name} does not take {dtype.label}.")
        plans += planned(
            kernel,
            dtype,
            seed=chosen.seed,
            count=chosen.shapes,
            device=device.id,
            memory_bytes=device.memory_bytes or 0,
            first_id=first + len(plans),
            peers=chosen.peers,
        )
    return plans


def _measure_rest(
    catalog: Catalog,
    plans: Sequence[Planned],
    known: Sequence[Measured],
    device: Device,
    path: Path,
    seconds: float,
) -> Path:
    """The file with the results. Raises SessionError, and CannotCompare where the device is not free."""
    labels = {one.shape.workload.label for one in known}
    jobs = [plan.job for plan in plans if plan.job.workload.label not in labels]
    print(f"{len(jobs)} of {len(plans)} shapes are to be measured.", file=sys.stderr)
    if not jobs:
        return path
    # Ratios need no ceilings, which take half a minute of the device.
    ending = record_jobs(
        catalog, jobs, device, path, append=path.exists(), seconds=seconds, ceilings=Ceilings.LEAVE
    )
    if reason := ending.busy or ending.unusable:
        raise CannotCompare(reason)
    return ending.path or path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
