"""Kills whole runs at random moments, with kill -9, and looks at what is left of each.

    python3 -P main.py -m roofscope.tests.faults.kills [--count 20] [--seed 1] [--device cuda]

Each run measures a few honest kernels; at a random moment one of its processes, or a group of them, is
killed.
Where the program itself was killed, the file must open and hold each point that was acknowledged; where
its worker, fork server or candidate's process was, the run must go on to its end as well. In no case may
a process run a second later, or hold the device's lock. Ends with 0 only where all this held.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.paths import SUFFIX
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.tests.faults.corpus import Fault, Target
from roofscope.tests.faults.run import GRACE_S, Watched, command_of, process_of
from roofscope.tests.faults.traces_left import left_after, locks_held

_KERNELS = 2  # and an honest one after each
_PARENT, _PARENT_GROUP, _WORKER_GROUP, _ALL = (
    "parent",
    "parent's group",
    "worker's group",
    "parent and worker",
)
_VICTIMS = (_PARENT, _PARENT, _PARENT_GROUP, _ALL, _WORKER_GROUP, *Target)


class Killed(Struct, frozen=True):
    """What was left of a run."""

    victim: str
    after_s: float
    acknowledged: int
    readable: int
    problem: str = ""


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 only where nothing was lost and nothing left."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a run, after which it hangs")
    parser.add_argument("--grace", type=float, default=GRACE_S, help="seconds in which processes may end")
    chosen = parser.parse_args(arguments)
    name = "cuda:0" if chosen.device == "cuda" else chosen.device
    device = next((device for device in local_devices() if device.id == name), None)
    if device is None:
        sys.exit(f"There is no device {name!r} here.")
    rolls = random.Random(chosen.seed)
    longest_s = _length_of_a_run(device, chosen.limit)
    sys.stdout.write(f"A run without a kill: {longest_s:.1f} s.\n")
    results: list[Killed] = []
    for number in range(chosen.count):
        victim, after_s = _VICTIMS[number % len(_VICTIMS)], rolls.uniform(0.0, longest_s)
        with tempfile.TemporaryDirectory(prefix="roofscope-kills-", ignore_cleanup_errors=True) as folder:
            results.append(killed(victim, after_s, device, Path(folder), chosen.limit, chosen.grace))
        one = results[-1]
        sys.stdout.write(
            f"{number + 1:4} {one.victim:18} after {one.after_s:5.1f} s: {one.acknowledged} acknowledged, "
            f"{one.readable} readable{f' - {one.problem}' if one.problem else ''}\n"
        )
        sys.stdout.flush()
    lost = sum(max(0, one.acknowledged - one.readable) for one in results)
    bad = [one for one in results if one.problem]
    sys.stdout.write(f"\n{len(results)} kills: {lost} acknowledged points lost, {len(bad)} with a problem.\n")
    return 1 if bad or lost else 0


def killed(
    victim: str, after_s: float, device: Device, folder: Path, limit_s: float, grace_s: float
) -> Killed:
    """One run, killed so many seconds after its beginning."""
    run = _started(device, folder)
    if not run.goes_on_for(after_s):
        after_s = time.monotonic() - run.began_s  # it was done before
    else:
        _kill(run.pid, victim)
    is_to_go_on = victim in (_WORKER_GROUP, *Target)
    code = run.end(limit_s if is_to_go_on else 10.0)
    left = left_after(run.mark, run.sessions, grace_s)
    acknowledged = sum(line.what == "OutcomeArrived" for line in run.lines())
    problems: list[str] = []
    readable = 0
    path = folder / f"run{SUFFIX}"
    try:
        readable = len(load(path).points) if path.exists() else 0
    except (SessionError, OSError) as error:
        problems.append(f"the file does not open: {error}")
    if readable < acknowledged:
        problems.append(f"{acknowledged - readable} points lost")
    if code is None or (is_to_go_on and code not in (0, 1)):
        problems.append(f"the run ended with {code}" if code is not None else "the run did not end")
    if is_to_go_on and code in (0, 1) and acknowledged != 2 * _KERNELS:
        problems.append(f"{acknowledged} of {2 * _KERNELS} outcomes")
    problems += [f"left: {one}" for one in left]
    problems += [f"lock held: {name}" for name in locks_held(folder / "locks", grace_s)]
    return Killed(victim, after_s, acknowledged, readable, "; ".join(problems))


def _length_of_a_run(device: Device, limit_s: float) -> float:
    with tempfile.TemporaryDirectory(prefix="roofscope-kills-", ignore_cleanup_errors=True) as folder:
        run = _started(device, Path(folder))
        if run.end(limit_s) not in (0, 1):  # a busy machine may fail one
            sys.exit(f"A run without a kill failed:\n{run.output()}")
        return time.monotonic() - run.began_s


def _started(device: Device, folder: Path) -> Watched:
    kernels = [Fault(f"kernel_{number}", "An honest kernel.", "kill") for number in range(_KERNELS)]
    return Watched(command_of(kernels, device, folder), folder)


def _kill(program: int, victim: str) -> None:
    worker = process_of(program, Target.WORKER)
    group = os.getpgid(worker) if worker else None
    match victim:
        case Target():
            _send(os.kill, process_of(program, victim))
        case _ if victim == _PARENT:
            _send(os.kill, program)
        case _ if victim == _PARENT_GROUP:
            _send(os.killpg, program)
        case _ if victim == _WORKER_GROUP:
            _send(os.killpg, group)
        case _:
            _send(os.killpg, group)
            _send(os.killpg, program)


def _send(end: Callable[[int, int], None], pid: int | None) -> None:
    if pid is not None:
        with suppress(ProcessLookupError):
            end(pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
