"""Cheap checks after timing: whether a call changes its inputs, or is faster on inputs it has seen.

Calls may return a remembered result. A replayed graph launches the same kernels whatever its inputs hold, but
these may note in the GPU's memory which contents they have worked on.
"""

import time
from typing import NamedTuple, Protocol

import torch

from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.raw_memory import as_words

REMEMBERED = 1.5  # times as fast on contents seen before
_MOST_SETS = 8
_MOST_TRIES = 5
_LEAST_PAIRS = 2  # that accuse
_MOST_DISTURBED = 20  # tries more, while other work has the cores
_PASS_S = 0.02
_DISTURBED_S = 10.0  # after which no pair takes the place of a disturbed one


def fingerprint(inputs: InputSet) -> tuple[int, ...]:
    """The sum of each tensor's words, taken as integers: the same bits give the same sum."""
    return tuple(int(as_words(tensor).sum(dtype=torch.int64)) for tensor in inputs)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one shape and dtype hold the same bits, NaN and all."""
    return torch.equal(as_words(one), as_words(other))


class Pass(NamedTuple):
    """How long it took, and whether threads could run whenever they were ready."""

    seconds: float
    is_calm: bool = True


class Passes(Protocol):
    """Passes of calls over input sets, and what may be done to the contents of these between them."""

    def refresh(self, *, seen: bool) -> None:
        """New contents for the sets of the pass, or where ``seen`` as much work that leaves them alone."""
        ...

    def run(self) -> Pass:
        """Run a pass."""
        ...


class Memory(NamedTuple):
    """Least times of a pass on contents never seen before, and on the same ones again."""

    fresh_s: float
    repeated_s: float


class NeverCalm(Exception):
    """Other work had the cores all the time: whether calls remember is not known."""


def find_memory(passes: Passes, ratio: float = REMEMBERED) -> Memory | None:
    """The times of calls that take more than ``ratio`` times as long on fresh contents; None of others.

    The least of several tries counts, because a busy moment slows either pass; one pair of passes that does
    not differ is enough to say no. A pair in which threads waited for a core says nothing, and others are
    tried, as far as it goes. Raises NeverCalm where there are too few to accuse anybody.
    """
    fresh_s: list[float] = []
    repeated_s: list[float] = []
    until = time.monotonic() + _DISTURBED_S
    for _ in range(_MOST_TRIES + _MOST_DISTURBED):
        passes.refresh(seen=False)
        fresh = passes.run()
        passes.refresh(seen=True)
        repeated = passes.run()
        if not (fresh.is_calm and repeated.is_calm):
            if time.monotonic() > until:
                break
            continue
        fresh_s.append(fresh.seconds)
        repeated_s.append(repeated.seconds)
        if min(fresh_s) <= ratio * min(repeated_s):
            return None
        if len(fresh_s) == _MOST_TRIES:
            break
    if len(fresh_s) < _LEAST_PAIRS:
        raise NeverCalm
    return Memory(min(fresh_s), min(repeated_s))


def pass_length(set_count: int, call_s: float) -> int:
    """Calls of a pass that is long enough to be timed, and leaves sets to spare where there are two."""
    return min(max(round(_PASS_S / call_s), 1), _MOST_SETS, max(set_count // 2, 1))
