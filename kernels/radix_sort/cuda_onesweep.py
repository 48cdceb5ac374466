"""Launches ``cuda_onesweep.cu``: one array in ascending order, in five passes."""

import torch

from roofscope import Refusal

DOMAIN = "n <= 2**30 - 2**14"
THREADS = 512  # as in cuda_onesweep.cu
TILE = THREADS * 16  # as in cuda_onesweep.cu
DIGITS, PASSES = 256, 4
COUNTING_BLOCKS = 4  # of a multiprocessor: as many as run at once


def run(program, key: torch.Tensor) -> torch.Tensor:
    """The keys of ``key``, (n,) and contiguous, in ascending order."""
    n = key.numel()
    if n > 2**30 - 2**14:  # the last tile's empty places are counted too
        raise Refusal(f"radix_sort/cuda_onesweep counts keys in 30 bits, and {n} are more.")
    out, other = torch.empty_like(key), torch.empty_like(key)
    if n == 0:
        return out
    tiles = -(-n // TILE)
    # Counts of all digits, a counter of tiles for each pass, and a word for each digit of each tile.
    cleared = torch.zeros((PASSES + 1 + tiles, DIGITS), dtype=torch.int32, device=key.device)
    counts, counters, words = cleared[:PASSES], cleared[PASSES], cleared[PASSES + 1 :]
    blocks = min(tiles, program.multiprocessor_count * COUNTING_BLOCKS)
    program.launch("radix_sort_count", blocks, THREADS, key, counts, n)
    program.launch("radix_sort_starts", PASSES, DIGITS, counts)
    source = key
    for number in range(PASSES):
        target = out if number % 2 else other
        program.launch("radix_sort_pass", tiles, THREADS, source, target, counts, words, counters, n, number)
        source = target
    return out
