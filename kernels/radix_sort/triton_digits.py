"""One array in ascending order in Triton, by digits of 4 bits, each in two passes.

Formula: y = the keys in ascending order. No FLOP, 8n compulsory bytes; this version moves 96n: eight times it
reads keys to count them, and reads and writes them.
Mapping: a program owns a tile of TILE keys. One kernel counts its keys of each digit; torch.cumsum makes of
all counts, digit by digit and tile by tile, where each tile's keys of a digit go; the other kernel ranks keys
among those of their digit by a running sum over the tile of 16 columns, one a digit, of zeros and ones.
Idea: where cuda_naive compares keys two by two, a digit of 4 bits says at once in which of 16 runs a key
lies, and a count where that run begins: sixteen passes in place of hundreds. Satish, Harris and Garland,
"Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009. Triton has no memory that programs
share for a look-back by digits, and no ranking by votes of a warp.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal

DOMAIN = "n < 2**31 - 2**20"
TILE = 1024
PASSES = 8

BITS = tl.constexpr(4)
DIGITS = tl.constexpr(16)


@triton.jit
def _ones(key, n, number, TILE: tl.constexpr):
    """The keys of a tile, their places, and a row for each with a one in the column of its digit."""
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    value = tl.load(key + at, mask=at < n, other=0)
    turned = value ^ -2147483648  # signed keys are in the order of unsigned ones with the first bit turned
    digit = (turned >> (number * BITS)) & (DIGITS - 1)
    is_one = (digit[:, None] == tl.arange(0, DIGITS)[None, :]) & (at < n)[:, None]
    return value, at, is_one.to(tl.int32)


@triton.jit
def _count(key, counts, n, tiles, number, TILE: tl.constexpr):
    _value, _at, ones = _ones(key, n, number, TILE)
    tl.store(counts + tl.arange(0, DIGITS) * tiles + tl.program_id(0), tl.sum(ones, axis=0))


@triton.jit
def _move(key, target, up_to, counts, n, tiles, number, TILE: tl.constexpr):
    value, at, ones = _ones(key, n, number, TILE)
    mine = tl.arange(0, DIGITS) * tiles + tl.program_id(0)
    start = tl.load(up_to + mine) - tl.load(counts + mine)
    place = start[None, :] + tl.cumsum(ones, axis=0) - 1
    tl.store(target + tl.sum(place * ones, axis=1), value, mask=at < n)


def run(key: torch.Tensor) -> torch.Tensor:
    """The keys of ``key``, (n,) and contiguous, in ascending order."""
    n = key.numel()
    if n >= 2**31 - 2**20:
        raise Refusal(f"radix_sort/triton_digits counts keys in 32 bits, and {n} are more.")
    out, other = torch.empty_like(key), torch.empty_like(key)
    if n == 0:
        return out
    tiles = triton.cdiv(n, TILE)
    counts = torch.empty(16 * tiles, dtype=torch.int32, device=key.device)
    source = key
    for number in range(PASSES):
        target = out if number % 2 else other
        _count[(tiles,)](source, counts, n, tiles, number, TILE, num_warps=8)
        up_to = torch.cumsum(counts, dim=0, dtype=torch.int32)
        _move[(tiles,)](source, target, up_to, counts, n, tiles, number, TILE, num_warps=8)
        source = target
    return out
