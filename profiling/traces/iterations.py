"""The iteration of a trace that is compared, and where it starts on the device.

The steps of a trace are its `ProfilerStep#` ranges if it has any, else the outermost ranges that the
program named (record_function): those that begin when all before them, on any thread, have ended. The
iteration is the last step that launches work of a GPU, because the first ones still warm up. All work
launched while the step lasts belongs to it, also by the thread of the backward pass. It starts with the
first of this work, not with the first work that runs after the step began, which may be what the step
before has left in the queue. A trace without steps is one iteration, from its first work on.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.profiling.traces.columns import Category, Indices, Trace
from roofscope.profiling.traces.origins import Origins

_STEP = "ProfilerStep#"


class Iteration(Struct, frozen=True, eq=False):
    name: str  # of the step; "" where it is the whole trace
    number: int  # of the step, from 0
    steps: int  # of the trace; 0 where it names none
    start_ns: int  # where its first work begins
    work: NDArray[np.bool_]  # which of Origins.work belong to it


def iteration_of(trace: Trace, origins: Origins, *, whole: bool = False) -> Iteration | None:
    """None where no GPU works. ``whole``: all of the trace, whatever steps it has."""
    if not len(origins.work):
        return None
    steps = np.empty(0, np.int32) if whole else _steps(trace)
    begins, ends = trace.slices.start_ns[steps], trace.slices.end_ns[steps]
    for number in range(len(steps) - 1, -1, -1):
        is_in = (origins.called_ns >= begins[number]) & (origins.called_ns < ends[number])
        if is_in.any():
            return _iteration(trace, origins, is_in, trace.name_of(int(steps[number])), number, len(steps))
    return _iteration(trace, origins, np.ones(len(origins.work), bool), "", 0, len(steps))


def _iteration(
    trace: Trace, origins: Origins, is_in: NDArray[np.bool_], name: str, number: int, steps: int
) -> Iteration:
    start = int(trace.slices.start_ns[origins.work[is_in]].min())
    return Iteration(name, number, steps, start, is_in)


def _steps(trace: Trace) -> Indices:
    """In order of time."""
    slices = trace.slices
    ranges = np.flatnonzero(slices.category == Category.ANNOTATION)
    ranges = ranges[np.lexsort((-slices.duration_ns[ranges], slices.start_ns[ranges]))].astype(np.int32)
    is_step = np.array([name.startswith(_STEP) for name in trace.names], bool)[slices.name[ranges]]
    if is_step.any():
        return ranges[is_step]
    is_outer = np.ones(len(ranges), bool)
    is_outer[1:] = slices.start_ns[ranges[1:]] >= np.maximum.accumulate(slices.end_ns[ranges])[:-1]
    return ranges[is_outer]
