"""How long a GUI thread leaves its event loop: the watchdog of the window's budgets.

It imports Qt alone, so that it can watch the window of any checkout.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from PySide6.QtCore import QEventLoop, QObject, QTimer

_REST_S = 0.12  # without a long block: what an action left for later has been done by then
_QUIET_S = 0.004
_LONGEST_WAIT_S = 600.0


class Block(NamedTuple):
    """One stay outside the event loop."""

    wall_s: float
    cpu_s: float


class LoopWatch(QObject):
    """Notes the longest time between two turns of the event loop, by the wall and by the thread's own clock.

    A timer of 0 ms fires at each turn; what lies between two of its calls is what a user's click would have
    had to wait for. The thread's own clock does not run while other programs have the core.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.turns = 0
        self.worst = Block(0.0, 0.0)
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._turn)
        self._last = (0.0, 0.0)
        self._busy_at = 0.0

    def __enter__(self) -> "LoopWatch":
        self.turns, self.worst = 0, Block(0.0, 0.0)
        self._last = time.perf_counter(), time.thread_time()
        self._busy_at = self._last[0]
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.stop()

    def _turn(self) -> None:
        now, cpu_now = time.perf_counter(), time.thread_time()
        wall_s, cpu_s = now - self._last[0], cpu_now - self._last[1]
        self.turns += 1
        self.worst = Block(max(self.worst.wall_s, wall_s), max(self.worst.cpu_s, cpu_s))
        if cpu_s > _QUIET_S:
            self._busy_at = now
        self._last = now, cpu_now

    @property
    def rested_s(self) -> float:
        """From the last turn that took long to the last turn: what lasts still is no rest."""
        return self._last[0] - self._busy_at


def longest_block(act: Callable[[], object], *, until: Callable[[], bool] = lambda: True) -> Block:
    """The longest block from the action on, until what it set going is done and the loop rests."""
    with LoopWatch() as watch:
        QTimer.singleShot(0, act)
        run_loop(until=lambda: watch.turns > 2 and watch.rested_s > _REST_S and until())
        return watch.worst


def run_loop(*, until: Callable[[], bool], at_most_s: float = _LONGEST_WAIT_S) -> None:
    """Turn the event loop until something holds. Raises TimeoutError."""
    loop, started = QEventLoop(), time.monotonic()
    while not until():
        if time.monotonic() - started > at_most_s:
            raise TimeoutError(f"the window was not ready after {at_most_s:.0f} s")
        loop.processEvents()
