"""The calls after which an implementation has compiled and allocated what it will."""

import time
from collections.abc import Callable
from typing import Any

from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.timing.block import LONG_CALL_S

SETTLE_CALLS = 3
_LEAST_CALLS = 2


def let_settle(call: Callable[..., Any], inputs: InputSet, synchronize: Callable[[], None]) -> bool:
    """Call until all is compiled and allocated. Returns whether a call seems to take more than LONG_CALL_S.

    A long call behind the first one has nothing left to compile: no third one is needed.
    """
    for made in range(1, SETTLE_CALLS + 1):
        started = time.perf_counter()
        call(*inputs)
        synchronize()
        is_long = time.perf_counter() - started > LONG_CALL_S
        if is_long and made >= _LEAST_CALLS:
            return True
    return False
