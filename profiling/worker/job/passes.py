"""Passes over the input sets in a candidate's process, for the look for a memory."""

from collections.abc import Callable

from roofscope.profiling.worker.candidate.messages import RunPass, Seconds
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.job.link import Link, RemoteSets
from roofscope.profiling.worker.job.memoization import Pass
from roofscope.profiling.worker.timing.waits import MOST_WAITED


class RemotePasses:
    """One call on each of the first ``count`` sets.

    The last sets take the refreshing that must leave these alone; where all are called, none does. Over there
    all sets are read before each pass, so that both kinds find the caches alike.
    """

    def __init__(
        self, link: Link, number: int, sets: RemoteSets, count: int, refresh: Callable[[InputSet], None]
    ) -> None:
        self._link, self._number = link, number
        self._sets, self._count = sets, count
        self._refresh = refresh

    def refresh(self, *, seen: bool) -> None:
        chosen = self._sets.sets[: self._count]
        spare = self._sets.sets[-self._count :] if 2 * self._count <= len(self._sets.sets) else []
        for inputs in spare if seen else chosen:
            self._refresh(inputs)
        self._sets.send()

    def run(self) -> Pass:
        seconds, waited_s = self._link.ask(RunPass(self._number, self._count), Seconds).values
        return Pass(seconds, waited_s <= MOST_WAITED * seconds)
