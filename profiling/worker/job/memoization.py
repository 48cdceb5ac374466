"""Cheap checks after timing: whether a call changes its inputs, or is faster on inputs it has seen.

A replayed graph does the same work whatever its inputs hold. Calls that are queued, or timed on a CPU, may
return a remembered result.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.timing.waits import waits

REMEMBERED = 1.5  # times as fast on contents seen before
_MOST_SETS = 8
_MOST_TRIES = 5
_MOST_DISTURBED = 20  # tries more, while other work has the cores
_MOST_WAITED = 0.1  # of a pass: far less than what is looked for
_PASS_S = 0.02
_WORD = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def fingerprint(inputs: InputSet) -> tuple[int, ...]:
    """The sum of each tensor's words, taken as integers: the same bits give the same sum."""
    return tuple(int(tensor.view(_WORD[tensor.element_size()]).sum(dtype=torch.int64)) for tensor in inputs)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one shape and dtype hold the same bits, NaN and all."""
    word = _WORD[one.element_size()]
    return torch.equal(one.view(word), other.view(word))


def remembers(
    call: Call, sets: Sequence[InputSet], refresh: Callable[[InputSet], None], call_s: float
) -> bool:
    """Whether calls on fresh contents take more than 1.5 times as long as on the same contents again.

    ``call_s``, seconds a call, sets the number of calls. The least of several tries counts, because a busy
    moment slows either pass; one pair of passes that does not differ is enough to say no. Passes on fresh
    contents during which threads waited for a core say nothing, and are tried again, as far as it goes.
    """
    count = min(max(round(_PASS_S / call_s), 1), _MOST_SETS, max(len(sets) // 2, 1))
    chosen, spare = sets[:count], sets[-count:]

    def timed_after_refresh_of(refreshed: Sequence[InputSet]) -> _Pass:
        # Each pass follows the same work, only on other tensors, so that both find the caches alike.
        for inputs in refreshed:
            refresh(inputs)
        for inputs in chosen:
            fingerprint(inputs)
        return _pass(call, chosen)

    fresh_s: list[float] = []
    repeated_s: list[float] = []
    for tries_left in reversed(range(_MOST_TRIES + _MOST_DISTURBED)):
        fresh = timed_after_refresh_of(chosen)
        if not fresh.is_calm and tries_left >= _MOST_TRIES - len(fresh_s):
            continue
        fresh_s.append(fresh.seconds)
        again = timed_after_refresh_of(spare) if len(sets) > 1 else _pass(call, chosen)
        repeated_s.append(again.seconds)
        if min(fresh_s) <= REMEMBERED * min(repeated_s):
            return False
        if len(fresh_s) == _MOST_TRIES:
            break
    return True


class _Pass(NamedTuple):
    seconds: float
    is_calm: bool


def _pass(call: Call, sets: Sequence[InputSet]) -> _Pass:
    on_gpu = sets[0][0].is_cuda
    if on_gpu:
        torch.cuda.synchronize()
    with waits() as waited_s:
        before_s, started = waited_s(), time.perf_counter_ns()
        for inputs in sets:
            call(*inputs)
        if on_gpu:
            torch.cuda.synchronize()
        seconds = (time.perf_counter_ns() - started) * 1e-9
        return _Pass(seconds, waited_s() - before_s <= _MOST_WAITED * seconds)
