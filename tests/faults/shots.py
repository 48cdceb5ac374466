"""Signals to the guard, the worker, to the fork server and to a candidate's process, in each stage."""

import signal

from roofscope.tests.faults.corpus import FOLDER, MEASURED, Fault, Shot, Target

_SLOW = FOLDER / "slow_kernel.py"  # its calls take 50 ms: each stage is there to be met
_LOST = ("worker lost", "timeout")


def _fault(target: Target, number: signal.Signals, stage: str, *, whole_group: bool = False) -> Fault:
    group = "_group" if whole_group else ""
    name = f"{number.name.lower()}_{target.value.replace(' ', '_')}{group}_{stage}"
    whom = f"the {target.value}{'s process group' if whole_group else ''}".replace("workers", "worker's")
    return Fault(
        f"signal_{name}",
        f"{number.name} to {whom} in the {stage} stage.",
        "signal",
        # A guard may be stopped, the fork server dead as well, without harm to a candidate that is there.
        right=(*_LOST, MEASURED) if target in (Target.GUARD, Target.FORK_SERVER) else _LOST,
        path=_SLOW,
        shot=Shot(target, number, stage, whole_group),
    )


FAULTS = (
    *(
        _fault(target, number, stage)
        for target in (Target.WORKER, Target.FORK_SERVER, Target.CANDIDATE)
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)
        for stage in ("verify", "measure")
    ),
    _fault(Target.CANDIDATE, signal.SIGKILL, "settle"),
    _fault(Target.CANDIDATE, signal.SIGKILL, "check"),
    _fault(Target.CANDIDATE, signal.SIGSEGV, "check"),
    _fault(Target.WORKER, signal.SIGHUP, "measure"),
    _fault(Target.GUARD, signal.SIGKILL, "measure"),
    _fault(Target.GUARD, signal.SIGSTOP, "measure"),
    _fault(Target.GUARD, signal.SIGTERM, "measure"),
    _fault(Target.WORKER, signal.SIGKILL, "measure", whole_group=True),
    _fault(Target.WORKER, signal.SIGSTOP, "measure", whole_group=True),
)
