"""What the Triton versions share: a timer for autotuning that a bad configuration cannot break."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton

_log = logging.getLogger(__name__)


def bench(call: Callable[[], Any], quantiles: Sequence[float]) -> list[float]:
    """Milliseconds of ``call`` at each quantile; infinite where it does not compile or launch.

    Triton's autotuner passes on a compiler's RuntimeError and so loses the good configurations too.
    A fault of the device is raised: nothing after it can be measured.
    """
    try:
        return triton.testing.do_bench(call, warmup=10, rep=30, quantiles=quantiles)
    except (RuntimeError, triton.TritonError) as error:
        _log.warning("A configuration was left out of the tuning: %s", error)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return [math.inf] * len(quantiles)


def shared_memory_limit(device: torch.device) -> int:
    """Bytes of shared memory one block may ask for."""
    return torch.cuda.get_device_properties(device).shared_memory_per_block_optin
