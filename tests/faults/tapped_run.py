"""The command line with a tap: each report goes, once it is committed, with the time to a file as well.

python3 -P main.py -m roofscope.tests.faults.tapped_run TAP run KERNEL ...
"""

import fcntl
import os
import sys
import time

import msgspec

from roofscope.main import main as program
from roofscope.profiling.supervision.recorder import Gain, Recorder
from roofscope.profiling.supervision.run_events import (
    Banner,
    OutcomeArrived,
    Progressed,
    RunEvent,
    WorkerLost,
)


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A report: seconds of the machine's steady clock, and what it was about."""

    at_s: float
    what: str
    kernel: str = ""
    stem: str = ""
    stage: str = ""
    kind: str = ""
    text: str = ""


def main(tap: str, words: list[str]) -> None:
    opened = os.open(tap, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    # Where the standard streams are closed it would be taken for one of them, and printed into.
    descriptor = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(opened)
    handle = Recorder.handle

    def tapped(recorder: Recorder, report: RunEvent) -> Gain | None:
        gained = handle(recorder, report)
        os.write(descriptor, msgspec.json.encode(line_of(report)) + b"\n")
        return gained

    Recorder.handle = tapped
    sys.argv[:] = ["roofscope", *words]
    program()


def line_of(report: RunEvent) -> Line:
    at_s, what = time.monotonic(), type(report).__name__
    match report:
        case OutcomeArrived(implementation=implementation, outcome=outcome):
            kind = getattr(outcome, "kind", type(outcome).__name__.lower())
            text = _safe(str(getattr(outcome, "message", "")))
            return Line(at_s, what, implementation.kernel, implementation.stem, kind=str(kind), text=text)
        case Progressed(item=item, stage=stage, detail=detail):
            return Line(at_s, what, item.partition(" ")[0], stage=str(stage or ""), text=detail)
        case Banner(text=text):
            return Line(at_s, what, text=_safe(text))
        case WorkerLost(message=message):
            return Line(at_s, what, text=_safe(message))
        case _:
            return Line(at_s, what)


def _safe(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
