"""Launches one_turn.cuh: short sums of few tokens an expert, by warps that hold their part of a matrix."""

import functools
import math
from typing import NamedTuple

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.whole_rows import is_whole

# As in few_tokens.cuh and one_turn.cuh.
_WARPS, _ROWS, _TOKENS, _TURN = 8, 16, 8, 128
_SHARING = (1, 2, 4, 8)
_BLOCKS = 2  # of a multiprocessor
_LEAST_OF_WARP = 24  # elements of k, for which another warp is not worth while
_MOST_TOKENS = 512  # all of one expert, which nobody knows of, are so many passes
_MOST_OF_EXPERT, _MOST_OF_LOOSE = 16, 8  # an expert
_TOKENS_OF_ONE = 4  # an expert, with which a run seldom has more than pass at once
_SMALL_BYTES = 2**21  # of matrices that may be read before it is known which are wanted
_AT_ONCE = 1.2  # blocks of a multiprocessor then
_OF_TILES = 0.88  # of its time in the model it takes beside that of tiles
_WORD = 64  # bytes of k that four lanes take at once


class _Rates(NamedTuple):
    """Nanoseconds of the start, of a round, of each word of a lane, and of each further pass of tokens.

    And of a word of such a pass, by how much more of two groups of tokens, and of these in a round; bytes a
    nanosecond, rounds more where there are several. Fitted to 125 times of 63 products on an H200.
    """

    start_ns: float
    round_ns: float
    word_ns: float
    pass_ns: float
    word_of_pass_ns: float
    bytes_per_ns: float
    past_one: float
    of_two: float
    two_ns: float


_OF_WORDS = _Rates(1708, 966, 0, 228, 74, 2373, 2.37, 6.44, 174)
_OF_LOOSE = _Rates(2357, 2144, 148, 4806, 0, 1852, 0.98, 0, 906)


class Way(NamedTuple):
    """Warps that share rows along k, tokens at once in eights, and whether blocks have experts, not runs."""

    sharing: int
    groups: int
    by_expert: bool
    time_ns: float  # about

    @property
    def rows(self) -> int:
        """Of a matrix, of a block."""
        return _WARPS // self.sharing * _ROWS


@functools.lru_cache(maxsize=4096)
def way_of(tokens: int, experts: int, n: int, k: int, multiprocessors: int, is_loose: bool) -> Way | None:
    """As many warps along k as have work and find room in one round; None where a turn is too short."""
    most = _MOST_OF_LOOSE if is_loose else _MOST_OF_EXPERT
    fewest = next((sharing for sharing in _SHARING if k <= _TURN * sharing), None)
    if fewest is None or not k or tokens > min(most * experts, _MOST_TOKENS):
        return None
    runs = min(experts, tokens)
    at_once = (1 if is_loose else _BLOCKS) * multiprocessors
    sharing = fewest
    while (
        sharing < _SHARING[-1]
        and k > _LEAST_OF_WARP * 2 * sharing
        and _blocks_of_run(2 * sharing, n) * runs <= at_once
    ):
        sharing *= 2
    # Where each has a token in any case or matrices are little, nobody waits to know which are wanted.
    is_little = 2 * experts * n * k <= _SMALL_BYTES
    by_expert = tokens >= experts or (
        is_little and _blocks_of_run(sharing, n) * experts <= _AT_ONCE * multiprocessors
    )
    groups = 1 if tokens <= _TOKENS_OF_ONE * experts else 2
    rates = _OF_LOOSE if is_loose else _OF_WORDS
    return Way(
        sharing, groups, by_expert, _time_ns(tokens, experts, n, k, sharing, groups, multiprocessors, rates)
    )


def _blocks_of_run(sharing: int, n: int) -> int:
    return -(-n // (_WARPS // sharing * _ROWS))


def _time_ns(
    tokens: int,
    experts: int,
    n: int,
    k: int,
    sharing: int,
    groups: int,
    multiprocessors: int,
    rates: _Rates,
) -> float:
    wanted = experts * (1 - (1 - 1 / experts) ** tokens)  # with a token, if each goes anywhere
    runs = wanted if tokens < 2 * experts else experts
    full = _blocks_of_run(sharing, n) * runs / (_BLOCKS * multiprocessors)
    rounds = full + rates.past_one if full > 1 else 1.0
    of_run, at_once = tokens / min(experts, tokens), groups * _TOKENS
    passes = of_run / at_once + 0.5 if 2 * of_run > at_once else 1.0
    words, is_double = -(-2 * k // (_WORD * sharing)), groups - 1
    pass_ns = rates.pass_ns + rates.word_of_pass_ns * words * (1 + is_double * rates.of_two)
    round_ns = rates.round_ns + rates.word_ns * words + is_double * rates.two_ns
    round_ns += max(passes - 1, 0.0) * pass_ns
    memory_ns = 2 * (wanted * n * k + tokens * (n + k)) / rates.bytes_per_ns
    return _OF_TILES * (rates.start_ns + math.hypot(rounds * round_ns, memory_ns))


def launch(
    program: CudaProgram, way: Way, x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """The products, of a k that ``way.sharing`` warps have in a turn."""
    (tokens, k), (experts, n) = x.shape, w.shape[:2]
    c = torch.empty((tokens, n), dtype=x.dtype, device=x.device)
    kind = "words" if is_whole(x) and is_whole(w) else "loose"
    program.launch(
        f"one_turn_{kind}_{way.sharing}_{way.groups}",
        (-(-n // way.rows), experts if way.by_expert else min(experts, tokens)),
        _WARPS * 32,
        *(x, w, c, offsets, tokens, experts, n, k, int(way.by_expert)),
        overlaps=True,
    )
    return c
