"""The largest 64 elements of rows in Triton: a sample of a row gives a threshold, the rest is filtered.

Formula: value[r, i] is the i-th of row r in descending order, equal ones by index. rows cols FLOP by the
spec's count, rows (cols s + 64 (s + 8)) bytes, and the sample and what passes once more.
Mapping: of three kernels the first has a program a row: the 64th largest of the maxima of GROUPS groups of
its first elements is a lower bound of the row's 64th. The second has a program a tile; it packs the keys of
what is as large, by a running sum of the mask, and an atomic addition a tile finds room for them in a list of
the row. The third finds the 64th key of each list, bit by bit, and stores what is as large by its rank; it
walks along the row, once a bit, where more has passed than a list has room for.
Rows are taken as many at once as have lists in LISTS_BYTES.
Idea: top_k/cuda_threshold. A key is an element's order and its turned index in 64 bits: no two are equal, and
the order of keys is that of a stable sort.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.limits import MOST_COLUMNS
from roofscope.kernels.top_k.eager import K

DOMAIN = "cols <= 2**31 - 2**20 and rows * ((cols + 4095) // 4096) < 2**31"
GROUPS, GROUP = 512, 32  # of a sample
TILE = 4096
CAPACITY = 4096  # keys of a list, or as many as a row has elements
LISTS_BYTES = 2**29  # of the rows that are taken at once: those of all may take more than x

_K = tl.constexpr(K)
LOWEST_ORDER = tl.constexpr(-(2**31))  # below every element's
LOWEST_KEY = tl.constexpr(-(2**63))
LARGEST = tl.constexpr(0x7FFFFFFF)
OTHERS = tl.constexpr(0xFFFFFFFF)


@triton.jit
def _orders(value):
    """Integers in the order of the elements: zeros of either sign are equal, NaN is the largest."""
    value = value.to(tl.float32)
    bits = (value + 0.0).to(tl.int32, bitcast=True)
    return tl.where(value != value, LARGEST, bits ^ ((bits >> 31) & LARGEST))  # noqa: PLR0124  # NaN


@triton.jit
def _keys(value, at):
    return (_orders(value).to(tl.int64) << 32) | (OTHERS - at.to(tl.int64))


@triton.jit
def _kth_largest(values, BITS: tl.constexpr):
    """The K-th largest of signed integers of BITS bits: bit by bit, as long as K are as large."""
    one = tl.full((), 1, values.dtype)
    found = one << (BITS - 1)  # the lowest
    if tl.sum((values >= 0).to(tl.int32), axis=0) >= _K:
        found = one - one
    for step in range(1, BITS):
        more = found | (one << (BITS - 1 - step))
        found = tl.where(tl.sum((values >= more).to(tl.int32), axis=0) >= _K, more, found)
    return found


@triton.jit
def _sample(x, threshold, count, cols, GROUPS: tl.constexpr, GROUP: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, GROUPS)[:, None] + tl.arange(0, GROUP)[None, :] * GROUPS
    value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    orders = tl.where(at < cols, _orders(value), LOWEST_ORDER)
    tl.store(threshold + row, _kth_largest(tl.max(orders, axis=1), 32))
    tl.store(count + row, 0)


@triton.jit
def _filter(
    x, threshold, count, keys, cols, tiles, SAMPLE: tl.constexpr, CAPACITY: tl.constexpr, TILE: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) // tiles
    at = (tl.program_id(0) % tiles) * TILE + tl.arange(0, TILE)
    value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    order = _orders(value)
    least = tl.load(threshold + row)
    # Beyond the sample an element that equals the threshold comes after K that are as large.
    passes = (at < cols) & ((order > least) | ((order == least) & (at < SAMPLE)))
    before = tl.cumsum(passes.to(tl.int32), axis=0)
    total = tl.max(before, axis=0)
    if total > 0:
        place = tl.atomic_add(count + row, total) + before - 1
        tl.store(keys + row * CAPACITY + place, _keys(value, at), mask=passes & (place < CAPACITY))


@triton.jit
def _row_keys(x, first, cols, TILE: tl.constexpr):
    at = first + tl.arange(0, TILE)
    value = tl.load(x + at, mask=at < cols, other=0.0)
    return tl.where(at < cols, _keys(value, at), LOWEST_KEY)


@triton.jit
def _kth_of_row(x, cols, TILE: tl.constexpr):
    """As _kth_largest, of the keys of a row, which is read once for each bit."""
    one = tl.full((), 1, tl.int64)
    found = one << 63
    for step in range(64):
        more = tl.where(step == 0, one - one, found | (one << (63 - step)))
        count = tl.zeros((TILE,), tl.int32)
        for first in range(0, cols, TILE):
            count += (_row_keys(x, first, cols, TILE) >= more).to(tl.int32)
        found = tl.where(tl.sum(count, axis=0) >= _K, more, found)
    return found


@triton.jit
def _select(x, count, keys, best, value, index, cols, CAPACITY: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x += row * cols
    best += row * _K
    found = tl.load(count + row)
    if found <= CAPACITY:
        at = tl.arange(0, CAPACITY)
        listed = tl.load(keys + row * CAPACITY + at, mask=at < found, other=LOWEST_KEY)
        largest = listed >= _kth_largest(listed, 64)
        tl.store(best + tl.cumsum(largest.to(tl.int32), axis=0) - 1, listed, mask=largest)
    else:
        least = _kth_of_row(x, cols, CAPACITY)
        stored = 0
        for first in range(0, cols, CAPACITY):
            listed = _row_keys(x, first, cols, CAPACITY)
            largest = listed >= least
            before = tl.cumsum(largest.to(tl.int32), axis=0)
            tl.store(best + stored + before - 1, listed, mask=largest)
            stored += tl.max(before, axis=0)
    tl.debug_barrier()  # other threads of the program have stored what is loaded now

    one, other = tl.load(best + tl.arange(0, _K)), tl.load(best + tl.arange(0, _K))
    rank = tl.sum((other[None, :] > one[:, None]).to(tl.int32), axis=1)
    column = OTHERS - (one & OTHERS)
    tl.store(index + row * _K + rank, column)
    tl.store(value + row * _K + rank, tl.load(x + column))


def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols) and contiguous, and their columns, (rows, K) each."""
    rows, cols = x.shape
    tiles = triton.cdiv(cols, TILE)
    if cols > MOST_COLUMNS or rows * tiles >= 2**31:
        raise Refusal(
            f"top_k/triton_threshold counts columns and tiles in 32 bits; {rows} x {cols} are more."
        )
    value = torch.empty((rows, K), dtype=x.dtype, device=x.device)
    index = torch.empty((rows, K), dtype=torch.int64, device=x.device)
    if rows == 0:
        return value, index
    capacity = min(max(triton.next_power_of_2(cols), K), CAPACITY)
    at_once = min(LISTS_BYTES // (8 * capacity), rows)
    threshold, count = torch.empty((2, at_once), dtype=torch.int32, device=x.device)
    keys = torch.empty((at_once, capacity), dtype=torch.int64, device=x.device)
    best = torch.empty((at_once, K), dtype=torch.int64, device=x.device)
    for first in range(0, rows, at_once):
        part = slice(first, first + at_once)
        here = x[part].shape[0]
        _sample[(here,)](x[part], threshold, count, cols, GROUPS, GROUP, num_warps=8)
        _filter[(here * tiles,)](
            x[part], threshold, count, keys, cols, tiles, GROUPS * GROUP, capacity, TILE, num_warps=8
        )
        _select[(here,)](x[part], count, keys, best, value[part], index[part], cols, capacity, num_warps=8)
    return value, index
