"""Launches ``cuda_onesweep.cu``: one array in ascending order, in five passes."""

from dataclasses import dataclass

import torch

from roofscope import CudaProgram, Refusal

DOMAIN = "n <= 2**30 - 2**14"
DIGITS, PASSES = 256, 4
COUNTING_THREADS = 1024  # as in digits.cuh
HAVE_ROOM = ("sm_80", "sm_90a", "sm_100a", "sm_103a")  # for 32 copies of all counts; as in digits.cuh
FIRST_THREADS = 512  # as in cuda_onesweep.cu
THREADS = 256  # as in cuda_onesweep.cu
MANY = 2**21  # keys, of which tiles of more take less time


@dataclass(frozen=True)
class Way:
    """Two kernels of cuda_onesweep.cu, of the first pass and of a later one, and their keys of a thread.

    A block that counts has ``counted`` keys of a thread, as far as there are multiprocessors for them.
    """

    first: str
    first_keys: int
    later: str
    keys: int
    counted: int = 16
    overlaps: bool = False


SHORT = Way("radix_sort_short_first", 8, "radix_sort_short_pass", 8, counted=4, overlaps=True)
MIDDLE = Way("radix_sort_first", 20, "radix_sort_pass", 28)
LONG = Way("radix_sort_first", 20, "radix_sort_long_pass", 36)


def way_of(n: int, multiprocessors: int) -> Way:
    """Short tiles where each multiprocessor has one at most: there a pass takes as long as a tile does."""
    if n <= THREADS * SHORT.keys * multiprocessors:
        return SHORT
    return LONG if n >= MANY else MIDDLE


def run(program: CudaProgram, key: torch.Tensor) -> torch.Tensor:
    """The keys of ``key``, (n,) and contiguous, in ascending order."""
    n = key.numel()
    if n > 2**30 - 2**14:  # the last tile's empty places are counted too
        raise Refusal(f"radix_sort/cuda_onesweep counts keys in 30 bits, and {n} are more.")
    out, other = torch.empty_like(key), torch.empty_like(key)
    if n == 0:
        return out
    way = way_of(n, program.multiprocessor_count)
    tiles = -(-n // (THREADS * way.keys))
    # Counts of all digits, counters of tiles and of blocks that have counted, a word a digit of each tile.
    cleared = torch.zeros((PASSES + 1 + tiles, DIGITS), dtype=torch.int32, device=key.device)
    counts, counters, words = cleared[:PASSES], cleared[PASSES], cleared[PASSES + 1 :]
    copies = 32 if program.architecture in HAVE_ROOM else 8
    blocks = min(-(-n // (COUNTING_THREADS * way.counted)), program.multiprocessor_count)
    shared_bytes = 4 * PASSES * DIGITS * copies
    counting = (key, counts, counters, n)
    program.launch("radix_sort_count", blocks, COUNTING_THREADS, *counting, shared_bytes=shared_bytes)
    first = -(-n // (FIRST_THREADS * way.first_keys))
    program.launch(way.first, first, FIRST_THREADS, key, other, counts, n, overlaps=way.overlaps)
    source = other
    # The keys, counts of each warp, and where digits go.
    pass_bytes = 4 * (THREADS * way.keys + (THREADS // 32 + 1) * DIGITS)
    for number in range(1, PASSES):
        target = out if number % 2 else other
        arguments = (source, target, counts, words, counters, n, number)
        program.launch(way.later, tiles, THREADS, *arguments, shared_bytes=pass_bytes, overlaps=way.overlaps)
        source = target
    return out
