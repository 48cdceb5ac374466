"""Flags as badges: a word or two for a narrow column, and a sentence that says what each means."""

from collections.abc import Iterable

from msgspec import Struct

from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.verdict import Verdict, VerdictKind
from roofscope.profiling.results.outcome import Flag


class Badge(Struct, frozen=True):
    text: str
    meaning: str
    is_warning: bool


_WORDS = {
    Flag.LAUNCH_BOUND: ("launch", "A caller waits longer for the launch than the device works."),
    Flag.UNSTABLE: ("unstable", "Blocks varied so much that the interval stayed wider than was asked for."),
    Flag.POWER_CAPPED: ("power cap", "The power limit held the clock down while it was timed."),
    Flag.PROFILER_DISAGREES: (
        "profiler differs",
        "The profiler's kernel times do not add up to the time: some work was not timed, or timed twice.",
    ),
    Flag.REMEMBERS: ("remembers", "It is faster on inputs that it has seen before: it may keep results."),
    Flag.EXTRA_KERNELS: ("several kernels", "One call launches more than one kernel."),
    Flag.CACHE_RESIDENT: (
        "in cache",
        "Its data fits the last-level cache, so DRAM's ceilings say little.",
    ),
    Flag.ABOVE_ROOF: (
        "above roof",
        "It is faster than its ceiling allows: check the kernel's formulas, or measure the ceilings again.",
    ),
    Flag.NO_ODD_SIZE: ("no odd size", "It takes no odd size, so none was verified."),
    Flag.HEAT_LIMITED: ("heat", "Heat held the clock down while it was timed."),
    Flag.CLOCK_SAGGED: (
        "clock sagged",
        "The clock was lower than a fresh device's, for no known cause.",
    ),
    Flag.HOST_TIME_INSIDE: ("host time", "It could not be queued, so the host's time is in its device time."),
    Flag.PARTLY_WARM: ("partly warm", "Its inputs did not all leave the cache between two calls."),
    Flag.PREEMPTED: ("other work", "Other work had the CPU for part of the time."),
    Flag.SHARED_GPU: ("shared GPU", "Other processes had memory on the GPU when the run began."),
}


def flags_beside(verdict: Verdict) -> tuple[Flag, ...]:
    """Those that stand beside what limits it: one word for both would be said twice."""
    said = Flag.LAUNCH_BOUND if verdict.kind is VerdictKind.LAUNCH_BOUND else None
    return tuple(flag for flag in verdict.flags if flag is not said)


def badge(flag: Flag) -> Badge:
    return Badge(*_WORDS[flag], flag in WARNING_FLAGS)


def flags_tip(flags: Iterable[Flag]) -> str:
    """A line a flag: its full name and what it means."""
    return "\n".join(f"{flag}: {_WORDS[flag][1]}" for flag in flags)
