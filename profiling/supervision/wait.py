"""How long a worker may be silent, and what is said of its silence meanwhile."""

from roofscope.profiling.supervision.run_events import Awaited

SAID_FROM_S = 5.0  # of silence: shorter ones are the ordinary course of a run
_NEAR_S = 60.0  # before the end: compilers are silent for minutes
_MOST_S = 3600.0  # whatever a worker asks for
# Times as long, for a worker that has no core. Not without end: foreign code can crowd itself out.
_MOST_CROWDED = 4.0


class Wait:
    """For the next sign of life. Deadlines of foreign code are ``patience`` times as long."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._more = 1.0  # for the task in flight, at the user's wish
        self._asked_s = 0.0  # by the worker, or a grace period
        self._is_grace = False
        self._waited_s = 0.0  # for a core, which is not the code's own time
        self._since: float | None = None  # when what is awaited began; None while nothing is
        self._heard_at = 0.0
        self._said_s = 0

    def begin_task(self) -> None:
        self._more = 1.0

    def expect(self, seconds: float, now: float) -> None:
        """Something of foreign code, within this time from now on."""
        self._begin(min(max(seconds, 0.0), _MOST_S), now, is_grace=False)

    def allow(self, seconds: float, now: float) -> None:
        """A grace period for our own code to end in, which nobody's patience makes longer."""
        self._begin(seconds, now, is_grace=True)

    def end(self) -> None:
        self._since = None

    def hear(self, now: float) -> None:
        """The worker lives."""
        self._heard_at, self._said_s = now, 0

    def is_over(self, now: float) -> bool:
        return self._since is not None and now >= self._since + self.granted_s

    def excuse(self, waited_s: float, now: float) -> None:
        """The worker had no core for this part of the time: it does not count, up to a bound."""
        if self._since is not None and not self._is_grace:
            most_s = min(now - self._since, (_MOST_CROWDED - 1.0) * self._own_s)
            self._waited_s = max(min(self._waited_s + waited_s, most_s), 0.0)

    @property
    def granted_s(self) -> float:
        return self._asked_s if self._is_grace else self._own_s + self._waited_s

    @property
    def _own_s(self) -> float:
        return self._asked_s * self._patience * self._more

    def double(self) -> bool:
        """As long again, and twice as long in the rest of the task; whether anything was waited for."""
        if self._since is None or self._is_grace:
            return False
        self._more *= 2.0
        return True

    def silence(self, now: float, *, at_once: bool = False) -> Awaited | None:
        """What is to be said: once a second when the end is near, and ``at_once`` where it has moved."""
        if self._since is None or self._is_grace:
            return None
        silent_s = int(now - self._heard_at)
        left_s = max(self._since + self.granted_s - now, 0.0)
        if not at_once and (silent_s < SAID_FROM_S or silent_s == self._said_s):
            return None
        if left_s > _NEAR_S and not self._said_s:
            return None
        self._said_s = silent_s
        return Awaited(silent_s, left_s)

    def _begin(self, seconds: float, now: float, *, is_grace: bool) -> None:
        self._asked_s, self._since, self._is_grace, self._waited_s = seconds, now, is_grace, 0.0
        self.hear(now)
