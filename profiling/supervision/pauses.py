"""Implementations that failed so hard that a worker is not given them again."""

from collections.abc import Iterable

import msgspec

from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.outcome import Failed, Outcome, SkipKind, Skipped
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.run_events import OutcomeArrived


class Pauses:
    """Holds until a file of the kernels changes, or the user wants them tried again."""

    def __init__(self, *, are_kept: bool = True) -> None:
        """``are_kept`` is False where the user wants each tried however often it costs a worker."""
        self._are_kept = are_kept
        self._why: dict[Implementation, str] = {}  # by the implementation as it was then

    def note(self, implementation: Implementation, outcome: Outcome) -> None:
        """Remember a failure that pauses."""
        if self._are_kept and isinstance(outcome, Failed) and outcome.kind.pauses:
            self._why[implementation] = outcome.message

    def clear(self) -> None:
        """The cause of any of them may lie in a reference or a helper that was edited."""
        self._why.clear()

    def lift(self, implementations: Iterable[Implementation]) -> None:
        """The user wants these tried again."""
        for implementation in implementations:
            self._why.pop(implementation, None)

    def split(self, run: Run) -> tuple[Run | None, list[OutcomeArrived]]:
        """What remains of a run, if anything, and the outcomes of what is paused."""
        skipped = [
            OutcomeArrived(
                run.job,
                implementation,
                Skipped(
                    SkipKind.PAUSED,
                    f"{self._why[implementation]} It is paused until a file of the kernels changes.",
                ),
            )
            for implementation in run.job.implementations
            if implementation in self._why
        ]
        rest = tuple(one for one in run.job.implementations if one not in self._why)
        return (Run(msgspec.structs.replace(run.job, implementations=rest)) if rest else None), skipped
