"""Deadlines of a job's stages, and of the calls in which a compiler may be at work.

A first call may compile for minutes, and from outside a kernel that never ends looks the same. Launches tell
them apart, because they return: once a call has returned, only the device is waited for.
"""

from collections.abc import Callable
from typing import Any

import torch

from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.worker.build.contract import Call

DEADLINE_S = {
    Stage.BUILD: 120.0,
    Stage.VERIFY: 240.0,  # of what compiles or tunes at its first call, and of the reference on a CPU
    Stage.SETTLE: 120.0,
    Stage.MEASURE: 120.0,  # plus DEADLINE_OF_EACH_S for each implementation
    Stage.CHECK: 120.0,
}
DEADLINE_OF_EACH_S = 30.0  # 10 s of exact blocks, the warm-up, and slow calls beyond
RESULT_DEADLINE_S = 60.0  # until the results of a call are there, and those of the reference
# Their calls compile or tune; the others' machine code is there once they are built.
_COMPILES_AT_CALL = frozenset((Provider.TRITON, Provider.COMPILE, Provider.LIBRARY))

Announce = Callable[[str, float], None]  # what is being done, and its deadline in seconds


def watched(call: Call, provider: Provider, device: torch.device, announce: Announce) -> Call:
    """The same call, announced before it is made and once it has returned.

    On a CPU a call returns with its results, so one announcement before it is enough.
    """
    compiles = provider in _COMPILES_AT_CALL
    detail, deadline_s = ("compiling", DEADLINE_S[Stage.VERIFY]) if compiles else ("", RESULT_DEADLINE_S)

    def announced(*inputs: torch.Tensor) -> Any:
        announce(detail, deadline_s)
        outputs = call(*inputs)
        on_gpu = device.type == "cuda"
        announce("waiting for its results" if on_gpu else "", RESULT_DEADLINE_S if on_gpu else _ON_CPU_S)
        return outputs

    return announced


_ON_CPU_S = DEADLINE_S[Stage.VERIFY]  # a reference in double precision may take a minute
