"""Launches ``cuda_onesweep.cu``: one array in ascending order, in five passes."""

import torch

from roofscope import CudaProgram, Refusal

DOMAIN = "n <= 2**30 - 2**14"
DIGITS, PASSES = 256, 4
COUNTING_THREADS = 1024  # as in digits.cuh
HAVE_ROOM = ("sm_80", "sm_90a", "sm_100a", "sm_103a")  # for 32 copies of all counts; as in digits.cuh
FIRST_THREADS = 512  # as in cuda_onesweep.cu
FIRST_TILE = FIRST_THREADS * 20  # as in cuda_onesweep.cu
THREADS = 256  # as in cuda_onesweep.cu
FEW_KEYS, MANY_KEYS = 28, 36  # of a thread; as in cuda_onesweep.cu
MANY = 2**21  # keys, of which tiles of more take less time


def run(program: CudaProgram, key: torch.Tensor) -> torch.Tensor:
    """The keys of ``key``, (n,) and contiguous, in ascending order."""
    n = key.numel()
    if n > 2**30 - 2**14:  # the last tile's empty places are counted too
        raise Refusal(f"radix_sort/cuda_onesweep counts keys in 30 bits, and {n} are more.")
    out, other = torch.empty_like(key), torch.empty_like(key)
    if n == 0:
        return out
    keys, name = (MANY_KEYS, "radix_sort_long_pass") if n >= MANY else (FEW_KEYS, "radix_sort_pass")
    tiles = -(-n // (THREADS * keys))
    # Counts of all digits, counters of tiles and of blocks that have counted, a word a digit of each tile.
    cleared = torch.zeros((PASSES + 1 + tiles, DIGITS), dtype=torch.int32, device=key.device)
    counts, counters, words = cleared[:PASSES], cleared[PASSES], cleared[PASSES + 1 :]
    copies = 32 if program.architecture in HAVE_ROOM else 8
    blocks = min(-(-n // (COUNTING_THREADS * 16)), program.multiprocessor_count)
    shared_bytes = 4 * PASSES * DIGITS * copies
    counting = (key, counts, counters, n)
    program.launch("radix_sort_count", blocks, COUNTING_THREADS, *counting, shared_bytes=shared_bytes)
    first = -(-n // FIRST_TILE)
    program.launch("radix_sort_first", first, FIRST_THREADS, key, other, counts, n)
    source = other
    # The keys, counts of each warp, and where digits go.
    pass_bytes = 4 * (THREADS * keys + (THREADS // 32 + 1) * DIGITS)
    for number in range(1, PASSES):
        target = out if number % 2 else other
        arguments = (source, target, counts, words, counters, n, number)
        program.launch(name, tiles, THREADS, *arguments, shared_bytes=pass_bytes)
        source = target
    return out
