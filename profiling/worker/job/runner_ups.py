"""An autotuner's winner beside its runner-up: timed in turn, by the referee, because noise may have chosen.

An autotuner times each configuration by itself for some milliseconds, on warm caches. Two that differ by less
than that timer's noise change places from one day to the next. So the second best is settled, too, and takes
its turn in the rounds of the job. It is no implementation of the job: its time belongs to the tuning.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace as changed

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.tuning import LONGEST_REASON, RunnerUp, Tuning, text_of
from roofscope.profiling.worker.candidate.messages import (
    ReadTunings,
    Settled,
    SettleRunnerUp,
    TuningsRead,
)
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.job.link import CandidateFailed, Link, RemoteTimer
from roofscope.profiling.worker.job.second_clock import contradiction
from roofscope.profiling.worker.timing.turn import Turn

_MOST_TIMED = 2  # runner-ups of an implementation: each costs the rounds of one implementation more


@dataclass(frozen=True)
class TimedRunnerUp:
    """A runner-up with a turn of its own; ``place``: of its tuning."""

    place: int
    number: int
    configuration: int
    turn: Turn
    timer: RemoteTimer


@dataclass(frozen=True)
class Tuned:
    """What autotuners of an implementation chose, and those of their runner-ups that are timed."""

    tunings: tuple[Tuning, ...] = ()
    runner_ups: tuple[TimedRunnerUp, ...] = ()


class RunnerUpFailed(Exception):
    """A runner-up broke its process; the text is a sentence. The winner is measured again in another one."""


class RunnerUps:
    """Of the implementations of a job. What once went wrong is not tried again in another process."""

    def __init__(self) -> None:
        self._missing: dict[Implementation, str] = {}

    def give_up(self, implementation: Implementation, why: str) -> None:
        """Time no runner-up of this one; ``why`` is a sentence."""
        self._missing[implementation] = text_of(why, LONGEST_REASON)

    def settle(
        self, link: Link, implementation: Implementation, number: int, turn: Turn, numbers: Iterator[int]
    ) -> Tuned:
        """Read what was tuned and settle the runner-ups. Raises RunnerUpFailed, or CandidateFailed."""
        try:
            tunings = link.ask(ReadTunings(number), TuningsRead).tunings
        except CandidateFailed as error:
            if not error.is_sound or error.has_broken_capture:
                raise
            return Tuned()  # what tells of it costs no result
        found: list[Tuning] = []
        timed: list[TimedRunnerUp] = []
        chosen = _longest(tunings)
        for place, tuning in enumerate(tunings):
            second = _second(tuning)
            if second is None:
                found.append(tuning)
                continue
            missing = self._missing.get(implementation, "")
            if place not in chosen:
                missing = f"Of a call's tuners the {_MOST_TIMED} longest have their runner-ups timed."
            if not missing:
                try:
                    timed.append(self._settled(link, number, next(numbers), turn, place, tuning, second))
                except CandidateFailed as error:
                    missing = _sentence(error)
            found.append(changed(tuning, runner_up=RunnerUp(second, missing=missing)))
        return Tuned(tuple(found), tuple(timed))

    @staticmethod
    def _settled(
        link: Link, number: int, as_number: int, turn: Turn, place: int, tuning: Tuning, second: int
    ) -> TimedRunnerUp:
        request = SettleRunnerUp(number, as_number, place, tuning.configurations[second])
        timer = RemoteTimer(link, as_number, link.ask(request, Settled).cold)
        return TimedRunnerUp(place, as_number, second, Turn(timer, beside=turn), timer)


def with_times(tuned: Tuned, verify: Callable[[TimedRunnerUp], None]) -> tuple[Tuning, ...]:
    """The tunings with the times of their runner-ups; ``verify`` raises WrongResult where one is wrong.

    Raises RunnerUpFailed.
    """
    found = list(tuned.tunings)
    for one in tuned.runner_ups:
        found[one.place] = changed(found[one.place], runner_up=_judged(one, verify))
    return tuple(found)


def _judged(one: TimedRunnerUp, verify: Callable[[TimedRunnerUp], None]) -> RunnerUp:
    if not one.turn.samples_s:
        return RunnerUp(one.configuration, missing="The runner-up was not timed.")
    winner = one.turn.beside
    if winner and winner.timer.method is not one.timer.method:
        words = f"The runner-up was timed by {one.timer.method}, so the two cannot be compared."
        return RunnerUp(one.configuration, missing=words)
    if against := contradiction(one.timer.seen):
        words = f"The runner-up's times are not those of its work: {against}."
        return RunnerUp(one.configuration, missing=text_of(words, LONGEST_REASON))
    try:
        verify(one)
    except WrongResult as error:
        return RunnerUp(one.configuration, missing=text_of(f"The runner-up {error}", LONGEST_REASON))
    except CandidateFailed as error:
        return RunnerUp(one.configuration, missing=_sentence(error))
    return RunnerUp(one.configuration, one.turn.stats)


def _sentence(error: CandidateFailed) -> str:
    """Raises RunnerUpFailed where the process is not to be used any more."""
    sentence = text_of(f"The runner-up could not be timed: {error}", LONGEST_REASON)
    if not error.is_sound or error.has_broken_capture:
        raise RunnerUpFailed(sentence) from None
    return sentence


def _second(tuning: Tuning) -> int | None:
    """The best but for the winner; None where fewer than two have a time."""
    timed = tuning.timed
    return timed[1] if len(timed) > 1 and timed[0] == tuning.winner else None


def _longest(tunings: Sequence[Tuning]) -> set[int]:
    """Places of those whose winners take longest: what they choose matters most."""
    seconds = [
        (tuning.configurations[tuning.winner].seconds or 0.0, place)
        for place, tuning in enumerate(tunings)
        if _second(tuning) is not None
    ]
    return {place for _, place in sorted(seconds, reverse=True)[:_MOST_TIMED]}
