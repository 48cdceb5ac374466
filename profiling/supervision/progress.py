"""How far a run is, and how long its rest will take."""

import math

from roofscope.profiling.supervision.protocol import Run, StageStarted, Task
from roofscope.profiling.supervision.run_events import Progressed

_LEAST_SPREAD = 0.15  # of the rest: no two runs of one plan take the same time
_UNKNOWN_SPREAD = 1.0  # after one step nobody knows how much the next ones differ


def item_count(task: Task) -> int:
    """How many steps of a progress bar it is worth."""
    return len(task.job.implementations) if isinstance(task, Run) else 1


class Progress:
    """Counts items: an implementation of a job is one, any other task is one.

    The implementations of a job end all at once, after a minute in which none does. So the time of an item is
    looked at only when some have ended, and the rest counts down between; else it would grow and jump.
    """

    def __init__(self, started_at: float = 0.0) -> None:
        self.total = 0
        self.done = 0
        self._has_started = False  # before the first stage the worker starts, which no item after it does
        self._steps: list[tuple[int, float]] = []  # items that ended together, and the time they took
        self._step_at = started_at
        self._counted = 0  # items in the steps

    def begin(self, now: float) -> None:
        """The first stage has begun."""
        if not self._has_started:
            self._has_started = True
            self._step_at = now

    def report(self, now: float, task_label: str, stage: StageStarted | None) -> Progressed:
        """``task_label``: what is being done; the stage adds whose turn it is."""
        whose = f" / {stage.implementation.label}" if stage and stage.implementation else ""
        if stage:
            self.begin(now)
        self._note_step(now)
        remaining_s = self._remaining_s(now)
        return Progressed(
            self.done,
            self.total,
            f"{task_label}{whose}",
            stage.stage if stage else None,
            stage.detail if stage else "",
            remaining_s,
            self._range_s(remaining_s),
        )

    def _note_step(self, now: float) -> None:
        if self.done > self._counted:
            self._steps.append((self.done - self._counted, now - self._step_at))
            self._counted, self._step_at = self.done, now

    @property
    def _mean_s(self) -> float:
        return sum(duration for _, duration in self._steps) / self._counted

    def _remaining_s(self, now: float) -> float | None:
        """As long an item as so far, less what the one under way has taken; None before the first."""
        left = self.total - self.done
        if not self._counted or left <= 0:
            return None if left > 0 else 0.0
        # What is under way takes some more however long it has taken.
        return max(left * self._mean_s - (now - self._step_at), (left - 0.5) * self._mean_s / 2)

    def _range_s(self, remaining_s: float | None) -> tuple[float, float] | None:
        """By how much the items so far differed: the fewer, the wider."""
        if remaining_s is None:
            return None
        spread = self._spread()
        return remaining_s / (1 + spread), remaining_s * (1 + spread)

    def _spread(self) -> float:
        steps, mean = len(self._steps), self._mean_s if self._counted else 0.0
        if steps < 2 or not mean:
            return _UNKNOWN_SPREAD
        square = sum(count * (duration / count - mean) ** 2 for count, duration in self._steps)
        deviation = math.sqrt(square / self._counted) / mean
        steps_left = max(1.0, (self.total - self.done) / (self._counted / steps))
        return max(_LEAST_SPREAD, deviation * math.sqrt(1 / steps + 1 / steps_left))
