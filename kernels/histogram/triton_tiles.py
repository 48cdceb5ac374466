"""How often each of 256 keys occurs, in Triton: programs count their tiles, and add up with the others once.

Formula: count[b] = the number of i with key[i] = b. n FLOP, 4n bytes.
Mapping: as many programs as run at once go from tile to tile; the counts of a tile are tl.histogram's, by
atomic additions in shared memory, and those of a program stay in its registers.
Idea: private histograms, as in cuda_shared and the CUDA samples. What a mask leaves out of the last tile
reads as key 0 and is taken off again.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.histogram.eager import BINS

TILE = 4096
PROGRAMS_PER_MULTIPROCESSOR = 8

_BINS = tl.constexpr(BINS)


@triton.jit
def _histogram(key, count, n, tiles, step, TILE: tl.constexpr):
    counts = tl.zeros((_BINS,), tl.int32)
    for tile in range(tl.program_id(0), tiles, step):
        at = (tl.zeros((), tl.int64) + tile) * TILE + tl.arange(0, TILE)
        counts += tl.histogram(tl.load(key + at, mask=at < n, other=0), _BINS)
    bins = tl.arange(0, _BINS)
    if (tiles - 1) % step == tl.program_id(0):  # the last tile was here
        last = n - (tl.zeros((), tl.int64) + (tiles - 1)) * TILE  # keys in it
        counts -= tl.where(bins == 0, TILE - last, 0).to(tl.int32)
    tl.atomic_add(count + bins, counts.to(tl.int64))


def run(key: torch.Tensor) -> torch.Tensor:
    """The counts of ``key``, (n,) and contiguous, as (256,) in int64."""
    count = torch.zeros(BINS, dtype=torch.int64, device=key.device)
    if n := key.numel():
        tiles = triton.cdiv(n, TILE)
        programs = min(tiles, _programs(key.device))
        _histogram[(programs,)](key, count, n, tiles, programs, TILE, num_warps=8)
    return count


def _programs(device: torch.device) -> int:
    """As many as run at once; on a CPU, where they are interpreted, a few."""
    if device.type != "cuda":
        return 3
    return torch.cuda.get_device_properties(device).multi_processor_count * PROGRAMS_PER_MULTIPROCESSOR
