"""What an autotuner tried for the measured call: each configuration, the winner, and its runner-up in turn.

All of it but the runner-up's time is what a process that runs foreign code says: text and figures, bounded.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from roofscope.profiling.plain_text import one_line
from roofscope.profiling.quantities import Count, Seconds
from roofscope.profiling.results.time_stats import TimeStats

MOST_CONFIGURATIONS = 1024  # of an autotuner
MOST_TUNINGS = 16  # of an implementation
MOST_OPTIONS = 32  # of a configuration
_MOST_KEYS = 32
LONGEST_NAME = 120
LONGEST_REASON = 300
_MOST_BYTES = 1 << 20  # of all of an implementation's, as JSON
_MOST_AROUND = 64 << 10  # of a tuning without its configurations: names and keys, each character escaped

_Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
_Reason = Annotated[str, Meta(max_length=LONGEST_REASON)]


class LeftOut(StrEnum):
    """Why a configuration has no time."""

    PRUNED = "pruned"  # by the kernel's own early_config_prune
    MODEL = "left by the model"  # the kernel's own performance model put others in front
    RESOURCES = "out of resources"
    COMPILE_ERROR = "does not compile"
    FAILED = "failed"
    NOT_TIMED = "not timed"  # no other one was left, or the autotuner does not say why


class Configuration(Struct, frozen=True):
    """One choice. ``seconds`` is by the autotuner's own timer, which is short and has warm caches."""

    options: Annotated[tuple[tuple[_Name, _Name], ...], Meta(max_length=MOST_OPTIONS)] = ()  # compile-time
    warps: Count | None = None
    stages: Count | None = None
    ctas: Count | None = None  # of a cluster
    most_registers: Count | None = None  # that it allows a thread
    pre_hook: _Name = ""  # the function that is called before the kernel, by its name
    seconds: Seconds | None = None
    left_out: LeftOut | None = None
    reason: _Reason = ""  # in the compiler's or the kernel's words, one line


class RunnerUp(Struct, frozen=True):
    """The second best, timed by the referee in the winner's rounds. ``missing``: why it was not."""

    configuration: Count  # its number
    time: TimeStats | None = None
    missing: _Reason = ""


class Tuning(Struct, frozen=True):
    """One autotuner's choice for one key. ``winner`` is the number of the configuration that it chose."""

    kernel: _Name
    key: Annotated[tuple[_Name, ...], Meta(max_length=_MOST_KEYS)]  # "M=4096", "torch.float16"
    configurations: Annotated[
        tuple[Configuration, ...], Meta(min_length=1, max_length=MOST_CONFIGURATIONS)
    ]  # in the order in which its file has them
    winner: Count
    tuning_s: Seconds | None = None  # how long it tuned; None where it did not
    is_cached: bool = False  # its times were on disk
    more: Count = 0  # configurations beyond what a session keeps
    runner_up: RunnerUp | None = None  # None where only one has a time

    def __post_init__(self) -> None:
        numbers = (self.winner, *([self.runner_up.configuration] if self.runner_up else []))
        if max(numbers) >= len(self.configurations):
            raise ValueError(f"{len(self.configurations)} configurations, but number {max(numbers)} is named")

    @property
    def timed(self) -> tuple[int, ...]:
        """Numbers of those with a time, the fastest first by the autotuner's own timer; the winner leads."""
        found = ((c.seconds, n) for n, c in enumerate(self.configurations) if c.seconds is not None)
        return tuple(
            number for _, number in sorted(found, key=lambda each: (each[1] != self.winner, each[0], each[1]))
        )


def text_of(value: object, longest: int = LONGEST_NAME) -> str:
    """Foreign text as it may be kept: one line, short, and no half of a character."""
    try:
        text = str(value)[: 8 * longest]
    except Exception:  # noqa: BLE001 - its class is a kernel's own, and so is what that does
        text = type(value).__name__
    shown = one_line(text).encode("utf-8", "replace").decode()
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def bounded(tunings: Iterable[Tuning]) -> tuple[Tuning, ...]:
    """What a session keeps of these: no more than fit together, of each the winner at least."""
    found: list[Tuning] = []
    left = _MOST_BYTES
    for tuning in tunings:
        kept = _shortened(tuning, left)
        if kept is None or len(found) == MOST_TUNINGS:
            break
        left -= len(msgspec.json.encode(kept))
        found.append(kept)
    return tuple(found)


def _shortened(tuning: Tuning, most_bytes: int) -> Tuning | None:
    """As many configurations as fit, those that matter first: the timed ones, the fastest in front."""
    if len(msgspec.json.encode(tuning)) <= most_bytes:
        return tuning
    rest = (number for number in range(len(tuning.configurations)) if number not in tuning.timed)
    left = most_bytes - _MOST_AROUND
    kept: list[int] = []
    for number in dict.fromkeys((tuning.winner, *tuning.timed, *rest)):
        left -= len(msgspec.json.encode(tuning.configurations[number])) + 1
        if left < 0:
            break
        kept.append(number)
    if not kept:
        return None
    kept.sort()
    return replace(
        tuning,
        configurations=tuple(tuning.configurations[number] for number in kept),
        winner=kept.index(tuning.winner),
        more=tuning.more + len(tuning.configurations) - len(kept),
        runner_up=None,  # which is found after this
    )
