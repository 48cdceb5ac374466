"""What is about to be stored is first read back, as a later opening will read it.

msgspec writes an infinite or undefined number as null. A file with one would be damaged from the start.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from roofscope.profiling.decoding import decode
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.planning.spec import Implementation, KernelSpec, Work
from roofscope.profiling.results import session_check as check
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.outcome import Failed, FailureKind, Outcome, Stage
from roofscope.profiling.results.proof import Proof
from roofscope.profiling.results.session_connection import SessionError
from roofscope.profiling.roofline.roofline import Ceiling

_MOST_BYTES = 64 << 20  # of one row but for traces
_CHECKS: dict[type, Any] = {
    Environment: check.check_environment,
    Job: check.check_job,
    KernelSpec: check.check_spec,
    Ceiling: check.check_ceiling,
    Proof: check.check_proof,
    Mark: check.check_mark,
    Counters: check.check_counters,
}
# UnreadableError and Impossible are ValueErrors; the others are of writing JSON.
_WRONG = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError, TypeError)
_NO_WORK = Work(0, 0, 0)


class NotStorable(SessionError):
    """A value that no later opening could read; the text is one sentence, and no file was touched."""


def stored_text(value: msgspec.Struct, kind: Any = None) -> str:
    """The value's JSON, which was read back. Raises NotStorable."""
    kind = kind or type(value)
    name = type(value).__name__.lower()
    try:
        content = msgspec.json.encode(value)
        if len(content) > _MOST_BYTES:
            raise NotStorable(
                f"This {name} takes {len(content) >> 20} MiB, more than a session holds of one."
            )
        found: Any = decode(content, kind)
        if kind is Outcome:
            check.check_outcome(found)
        elif kind in _CHECKS:
            _CHECKS[kind](found)
    except _WRONG as error:
        raise NotStorable(f"This {name} cannot be stored: {error}.") from error
    return content.decode()


def storable(job: Job, implementation: Implementation, outcome: Outcome) -> tuple[Job, Outcome]:
    """The job and the outcome if a session can hold them, else a failure that says why it cannot.

    Raises NotStorable where not even that can be stored, as with a name that is no text.
    """
    try:
        stored_text(job)
        stored_text(outcome, Outcome)
    except NotStorable as error:
        failed = unstorable(implementation, error)
    else:
        return job, outcome
    try:
        stored_text(job)
    except NotStorable:
        job = replace(job, work=_NO_WORK)
    return job, failed


def unstorable(implementation: Implementation, error: NotStorable) -> Failed:
    """What is kept of a result that cannot be."""
    message = f"{implementation.title} ended in a result that cannot be kept. {plain(str(error))}"
    return Failed(FailureKind.INTERNAL, Stage.MEASURE, message)


def plain(text: str) -> str:
    """Without halves of surrogate pairs, which no UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()
