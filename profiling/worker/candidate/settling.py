"""The calls after which an implementation has compiled and allocated what it will."""

import time
from collections.abc import Callable
from typing import Any

from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.timing.block import BLOCK_S, LONG_CALL_S

SETTLE_CALLS = 3
_LEAST_CALLS = 2


def let_settle(call: Callable[..., Any], inputs: InputSet, synchronize: Callable[[], None]) -> bool:
    """Call until all is compiled and allocated. Returns whether a call seems to be longer than a block.

    One of LONG_CALL_S behind the first has nothing left to compile: no third one is needed.
    """
    took_s = 0.0
    for made in range(1, SETTLE_CALLS + 1):
        started = time.perf_counter()
        call(*inputs)
        synchronize()
        took_s = time.perf_counter() - started
        if took_s > LONG_CALL_S and made >= _LEAST_CALLS:
            break
    return took_s > BLOCK_S
