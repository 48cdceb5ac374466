"""What a run shows of a fault: whether the program survived it, and how long the next point took."""

import re
from collections.abc import Sequence

from msgspec import Struct

from roofscope.profiling.results.outcome import FailureKind
from roofscope.tests.faults.corpus import LEFT_OUT, MEASURED, Fault
from roofscope.tests.faults.run import Seen
from roofscope.tests.faults.tapped_run import Line

MOST_NEXT_S, MOST_STICKY_S = 25.0, 15.0  # from the beginning of a fault's last stage to the next point
MOST_COMPILING_S = 255.0  # a compiler's own deadline, and the next point
MOST_END_S = 5.0  # from the last result to the program's end
_MOST_LEFT_BYTES = 1 << 20
_MOST_OUTPUT = 4000  # characters
_MOST_LOG_BYTES = 64 << 20
# Frames of this program's own, in Python's tracebacks and in those that are drawn.
_OUR_FRAME = re.compile(r"(?:main|/(?:app|supervision)/(?:\w+/)*\w+)\.py(?:\"|:\d)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Row(Struct, frozen=True):
    """A fault, and what came of it."""

    name: str
    group: str
    title: str
    saw: str  # one line: what the user read of it
    survived: bool
    next_s: float | None
    end_s: float
    is_slow: bool
    left: tuple[str, ...]
    locks: tuple[str, ...]
    why: tuple[str, ...]  # what was not as it must be, seconds apart
    output: str = ""  # the end of all that was printed

    @property
    def is_right(self) -> bool:
        return self.survived and not (self.left or self.locks)


def judge(fault: Fault, seen: Seen, *, is_busy: bool = False) -> Row:
    """``seen`` may be of a run with other faults, too: what is wrong with the run is then said of each.

    ``is_busy``: other work has the cores, so that a true time may not agree with the referee's clock.
    """
    outcomes = _outcomes(seen, fault.name, fault.stem)
    after = _outcomes(seen, fault.after, "eager")
    next_s = after[0].at_s - _begun(fault, seen, outcomes) if after else None
    last_s = max((line.at_s for line in seen.lines if line.what == "OutcomeArrived"), default=seen.began_s)
    end_s = seen.ended_s - last_s
    why = (
        *_of_the_run(fault, seen),
        *_of_the_outcome(fault, seen, outcomes, is_busy=is_busy),
        *_of_what_follows(fault, after, seen, is_busy=is_busy),
    )
    most_s = MOST_STICKY_S if fault.is_sticky else MOST_COMPILING_S if fault.is_compiling else MOST_NEXT_S
    return Row(
        fault.name,
        fault.group,
        fault.title,
        _saw(fault, seen, outcomes),
        survived=not why,
        next_s=next_s,
        end_s=end_s,
        is_slow=(next_s is not None and next_s > most_s)
        or (end_s > MOST_END_S and not _may_end_early(fault)),
        left=seen.left,
        locks=seen.locks,
        why=why,
        output=seen.output[-_MOST_OUTPUT:],
    )


def _outcomes(seen: Seen, kernel: str, stem: str) -> list[Line]:
    return [
        line
        for line in seen.lines
        if line.what == "OutcomeArrived" and (line.kernel, line.stem) == (kernel, stem)
    ]


def _begun(fault: Fault, seen: Seen, outcomes: Sequence[Line]) -> float:
    """When the stage began in which the fault happened; the run's beginning for what is no kernel."""
    until_s = outcomes[0].at_s if outcomes else float("inf")
    begun, last = seen.began_s, ("", "")
    for line in seen.lines:
        if line.what == "Progressed" and line.kernel == fault.name and line.at_s < until_s:
            if (line.stage, line.text) != last:
                begun = line.at_s
            last = (line.stage, line.text)
    return begun


def _may_end_early(fault: Fault) -> bool:
    return fault.around is not None and fault.around.may_end


def _of_the_run(fault: Fault, seen: Seen) -> list[str]:
    why: list[str] = []
    codes = (0, 1, 2, 74, 141) if _may_end_early(fault) else (0, 1)
    if seen.code is None:
        why.append(f"the run did not end in {seen.ended_s - seen.began_s:.0f} s")
    elif seen.code not in codes:
        why.append(f"exit code {seen.code}")
    if _OUR_FRAME.search(seen.output):
        why.append("a traceback")
    if found := _CONTROL.search(seen.output):
        why.append(f"the control character {found[0]!r} on the terminal")
    if seen.log_bytes > _MOST_LOG_BYTES:
        why.append(f"a log of {seen.log_bytes >> 20} MiB")
    if seen.bytes_left > _MOST_LEFT_BYTES and fault.group != "left":  # there the kernel's own files
        why.append(f"{seen.bytes_left >> 20} MiB left in TMPDIR")
    committed = sum(line.what == "OutcomeArrived" for line in seen.lines)
    if seen.session not in seen.output and seen.lines and not _is_silent(fault):
        why.append(f"the user does not read that the results are in {seen.session}")
    if seen.readable_points < committed:
        why.append(f"{seen.readable_points} of {committed} points readable {seen.unreadable}".strip())
    if not seen.is_shot:
        why.append("it was not carried out: the stage never came")
    return why


def _is_silent(fault: Fault) -> bool:
    """Whether what is printed goes nowhere."""
    return fault.around is not None and ">" in fault.around.redirect


def _of_the_outcome(fault: Fault, seen: Seen, outcomes: Sequence[Line], *, is_busy: bool) -> list[str]:
    if fault.right == (LEFT_OUT,):
        text = "\n".join(line for line in seen.output.splitlines() if fault.after not in line)
        if not any(word in text for word in fault.says):
            return [f"nothing that the user read has a word of {', '.join(fault.says)}"]
        return []
    if _may_end_early(fault) and not outcomes:
        if any(word in seen.output for word in fault.says):
            return []
        return [f"ended without a word of {', '.join(fault.says)}"]
    if len(outcomes) != 1:
        return [f"{len(outcomes)} outcomes"]
    [outcome] = outcomes
    if outcome.kind not in fault.right and not (MEASURED in fault.right and is_busy and _is_timed(outcome)):
        return [f"{outcome.kind}: {outcome.text}"]
    text = f"{outcome.text}\n{seen.output}"
    if (
        fault.says
        and (outcome.kind != MEASURED or fault.group == "folder")
        and not any(word in text for word in fault.says)
    ):
        return [f"none of {', '.join(fault.says)} in: {outcome.text}"]
    return []


def _of_what_follows(fault: Fault, after: Sequence[Line], seen: Seen, *, is_busy: bool) -> list[str]:
    if not after:
        if _may_end_early(fault) and any(word in seen.output for word in fault.says):
            return []
        return ["the honest kernel after it has no outcome"]
    if after[0].kind != MEASURED and not (is_busy and _is_timed(after[0])):
        return [f"the honest kernel after it: {after[0].kind}: {after[0].text}"]
    return []


def _is_timed(outcome: Line) -> bool:
    """Whether it was right and was timed, but beside so much other work that the clocks disagree."""
    return outcome.kind == FailureKind.TAMPERED and "referee's clock" in outcome.text


def _saw(fault: Fault, seen: Seen, outcomes: Sequence[Line]) -> str:
    """The line with the outcome, as it was printed; else what names the fault, else the last line."""
    lines = [line for line in seen.output.splitlines() if line.strip()]
    named = [line for line in lines if fault.name in line.replace(fault.after, "")]
    said = [line for line in lines if fault.says and any(word in line for word in fault.says)]
    found = (named if outcomes else said or named) or said or lines[-1:] or ["(nothing)"]
    return found[0][:300]
