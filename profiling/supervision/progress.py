"""How far the tasks have come since there was last nothing to do."""

from roofscope.profiling.supervision.protocol import StageStarted
from roofscope.profiling.supervision.run_events import Progressed


class Progress:
    """Counts items: an implementation of a job is one, any other task is one."""

    def __init__(self, started_at: float = 0.0) -> None:
        self.total = 0
        self.done = 0
        self._started_at = started_at

    def report(self, now: float, task_label: str, stage: StageStarted | None) -> Progressed:
        """``task_label``: what is being done; the stage adds whose turn it is."""
        whose = f" / {stage.implementation.label}" if stage and stage.implementation else ""
        return Progressed(
            self.done,
            self.total,
            f"{task_label}{whose}",
            stage.stage if stage else None,
            stage.detail if stage else "",
            self._remaining_s(now),
        )

    def _remaining_s(self, now: float) -> float | None:
        """As long an item as so far; None before the first."""
        if not self.done:
            return None
        return (now - self._started_at) / self.done * (self.total - self.done)
