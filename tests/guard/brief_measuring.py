"""Lets a worker measure for tenths of a second: its tests ask what becomes of a time, not for a good one.

In a test's own process by ``shorten``; in those that it starts by ``sitecustomize.py``. The program has no
such switch: a time would depend on who set it.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

MODULE = "roofscope.profiling.worker.timing.rounds"
_LESS = 8


def shorten(rounds: ModuleType, put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Divide the caps of the module's rules, also the least time to warm up; the least rounds stay."""
    put(rounds, "STOP_RULES", {key: _capped(rounds, rule) for key, rule in rounds.STOP_RULES.items()})
    for name in ("QUICK_WARM_UP", "EXACT_WARM_UP"):
        rule = getattr(rounds, name)
        put(rounds, name, rounds.replace(rule, least_s=rule.least_s / _LESS, most_s=rule.most_s / _LESS))


def _capped(rounds: ModuleType, rule: Any) -> Any:
    return rounds.replace(rule, cap_s=rule.cap_s / _LESS)
