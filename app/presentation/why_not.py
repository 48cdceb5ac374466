"""Why a point has no time: what happened, what that means, and the next thing to try.

The window's details, `why`, `show --why` and the report have the same sentences.
"""

import re

from msgspec import Struct

from roofscope.app.presentation.examined import examined_sentence
from roofscope.app.presentation.verdict_text import ended
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.outcome import (
    Cancelled,
    Examined,
    Failed,
    FailureKind,
    Measured,
    SkipKind,
    Skipped,
    Stage,
)
from roofscope.profiling.results.session import Point

TITLES = ("Happened", "Meaning", "Next")


class WhyNot(Struct, frozen=True):
    """Three sentences of a point without a time."""

    happened: str
    meaning: str
    next_step: str
    others: tuple[str, ...] = ()

    @property
    def titled(self) -> tuple[tuple[str, str], ...]:
        """Each sentence with the word that stands before it."""
        return tuple(zip(TITLES, (self.happened, self.meaning, self.next_step), strict=True))


def why_not(point: Point) -> WhyNot | None:
    """None for a point with a time."""
    match point.outcome:
        case Measured():
            return None
        case Failed(kind=kind, stage=stage, message=message):
            meaning, step = _OF_FAILURE[kind]
            if kind is FailureKind.WRONG_VALUES and _NO_NUMBER.search(message):
                step = _OVERFLOWS
            if kind.pauses:
                meaning = f"{meaning} {_PAUSED}"
            return WhyNot(f"It failed {_WHEN[stage]} ({kind}): {_sentence(message)}", meaning, step)
        case Skipped(kind=kind, message=message):
            meaning, step = _OF_SKIP[kind]
            return WhyNot(f"It was skipped ({kind}): {_sentence(message)}", meaning, step)
        case Examined() as examined:
            return WhyNot(
                examined_sentence(examined, point.job.workload),
                "A result that is right, and code that compiles, say nothing of its speed.",
                "Run it on a machine with such a GPU, or open a session that was recorded on one.",
            )
        case Cancelled(message=message):
            return WhyNot(
                f"It was stopped before it had a time: {_sentence(message)}",
                "Nothing is known against it: only the run ended early.",
                "Run it again.",
            )


def _sentence(message: str) -> str:
    return ended(one_line(message)) if message.strip() else "no reason was recorded."


_WHEN = {
    Stage.BUILD: "while it was built",
    Stage.VERIFY: "when its results were verified",
    Stage.SETTLE: "before its time had settled",
    Stage.MEASURE: "while it was timed",
    Stage.CHECK: "in the check after the timing",
}

_PAUSED = "It is paused until its file changes, so that it takes no other work down."
_NO_NUMBER = re.compile(r"\b(NaN|infinity)\b")
_OVERFLOWS = (
    "Look at what overflows or divides by zero for such inputs: exponentials, squares, sums in a short type, "
    "quotients of two infinities, a maximum that was not subtracted."
)
_IN_SPEC = "its kernel's spec.py says which"

_OF_FAILURE = {
    FailureKind.BUILD_ERROR: (
        "There is no machine code, so nothing of it ran.",
        "Correct the line that its log names; `roofscope source` shows it marked.",
    ),
    FailureKind.WRONG_SHAPE: (
        "It computes other work than the kernel asks for, of which a time would say nothing.",
        f"Give each output its shape: {_IN_SPEC}.",
    ),
    FailureKind.WRONG_DTYPE: (
        "It moves other bytes than the kernel asks for, so its time could not be compared.",
        f"Give each output its data type: {_IN_SPEC}.",
    ),
    FailureKind.WRONG_VALUES: (
        "Its results are farther from the float64 reference than is allowed, and a wrong result has no time.",
        "Look at the element that is named: at indices near edges, synchronisation, sums in a short type.",
    ),
    FailureKind.NOT_PLAIN: (
        "A tensor of a class of its own decides when it is computed, so no clock could surround the work.",
        "Return plain tensors of torch.",
    ),
    FailureKind.ALIASED: (
        "A later call would overwrite what this one gave, so its results could not be verified.",
        "Allocate each output by itself, and clone what is a view of an input.",
    ),
    FailureKind.INPUT_CHANGED: (
        "Each later call would compute with other inputs than the first.",
        "Write into outputs only; clone an input before working in place.",
    ),
    FailureKind.LAUNCH_ERROR: (
        "The device refused to start a kernel, so nothing was computed.",
        "Check grid, block and shared memory against the limits of the device.",
    ),
    FailureKind.OUT_OF_MEMORY: (
        "The device has too little memory for it at this size, beside the buffers that keep caches cold.",
        "Choose a smaller size, or end what else uses the device.",
    ),
    FailureKind.DEVICE_FAULT: (
        "It reached memory that is not its own, or stopped on an error, and what the device held was lost.",
        "Check its indices at the edges; compute-sanitizer names the access.",
    ),
    FailureKind.TIMEOUT: (
        "It did not end before its deadline and was ended.",
        "Look for a loop or a wait without an end; a smaller size shows whether it is only slow.",
    ),
    FailureKind.WORKER_LOST: (
        "The process that ran it ended, so nothing of it is known.",
        "Read the last lines of its log, mend it, and measure it by itself.",
    ),
    FailureKind.TAMPERED: (
        "It reached what judges it, or its time is not that of its work, so no number of it counts.",
        "Compute from the inputs in each call, and leave torch, its streams and its clocks as they are.",
    ),
    FailureKind.NOT_SETTLED: (
        "It compiled, tuned or allocated while it was timed, so a time would hold that work as well.",
        "Do so before: fixed shapes, a fixed configuration, or a cache that the first calls fill.",
    ),
    FailureKind.INTERNAL: (
        "Roofscope failed here, and not the implementation.",
        "Measure it again; if it fails again, report it with its log.",
    ),
}

_OF_SKIP = {
    SkipKind.UNSUPPORTED: (
        "It is not made for this device or these sizes, which is no fault of it.",
        "Measure it where it runs, and compare the others here.",
    ),
    SkipKind.UNAVAILABLE: (
        "Something that it needs is missing here; it was not tried.",
        "Ask `roofscope doctor`, which says what is missing and how to get it.",
    ),
    SkipKind.TOO_LARGE: (
        "Its tensors would not fit the memory of the device, so it was not begun.",
        "Choose a smaller size, or end what else uses the device.",
    ),
    SkipKind.PAUSED: (
        f"It took its process down before. {_PAUSED}",
        "Mend its file and save it: it runs again then.",
    ),
    SkipKind.CHANGED: (
        "Its files changed after the plan was made, so a time would be of code that nobody asked for.",
        "Run it again: a new plan takes the files as they are.",
    ),
}
