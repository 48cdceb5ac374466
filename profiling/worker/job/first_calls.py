"""Deadlines of a job's stages, and of the calls in which a compiler may be at work.

A first call may compile for minutes, and from outside a kernel that never ends looks the same. Launches tell
them apart, because they return: once a call has returned, only the device is waited for.
"""

import torch

from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Stage

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

_ON_CPU_S = DEADLINE_S[Stage.VERIFY]  # a reference in double precision may take a minute


def of_call(provider: Provider, device: torch.device, *, has_returned: bool) -> tuple[str, float]:
    """What is being waited for, and the deadline in seconds: of a call or, once it has returned, its results.

    On a CPU a call returns with its results; what is waited for then is the reference.
    """
    if has_returned:
        on_gpu = device.type == "cuda"
        return ("waiting for its results", RESULT_DEADLINE_S) if on_gpu else ("", _ON_CPU_S)
    if provider in _COMPILES_AT_CALL:
        return "compiling", DEADLINE_S[Stage.VERIFY]
    return "", RESULT_DEADLINE_S
