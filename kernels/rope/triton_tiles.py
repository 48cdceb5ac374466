"""The rotary embedding in Triton, in one pass over tiles of a few positions of a head.

Formula: y[i] = x[i] cos[i] - x[i + half] sin[i], y[i + half] = x[i + half] cos[i] + x[i] sin[i]; 3 FLOP an
element, (2 batch heads seq 2 half + 2 seq half)s bytes: heads read the tables again, from the caches.
Mapping: program p owns ROWS positions of a head: a tile of ROWS x WIDTH elements of the lower half and one
of the upper, 16 bytes of each for each of its 128 threads, and fewer where sequences are short. Two or four
heads a program, which would load the tables once for all, are no faster. All sizes but the number of heads
are known to the compiler, which spares small sizes a division. Of few pairs a program owns a run, and
divides: so all multiprocessors have one, and no program brings tables from one layout to another.
Idea: Su et al., "RoFormer", arXiv:2104.09864, in the rotate-half form of GPT-NeoX: halves, not neighbours,
are paired, so that both are read in whole vectors.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import hint_of

TILE_BYTES = 2048
PACK_BYTES = 16
# Pairs of all heads that are one run, and of a program: where half a head is whole packs, and elsewhere.
MOST_OF_RUN, RUN = 2**18, 512
MOST_OF_LOOSE_RUN, LOOSE_RUN = 2**19, 256
FEW_OF_LOOSE_RUN = 2**17  # of which a program has half as many


@triton.jit
def _rope(
    x,
    cos,
    sin,
    y,
    seq: tl.constexpr,
    half: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    HINT: tl.constexpr,
):
    TILES: tl.constexpr = (seq + ROWS - 1) // ROWS
    head = tl.program_id(0) // TILES
    first = tl.program_id(0) % TILES * ROWS
    row = tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, WIDTH)[None, :]
    # Not `first + row < seq`: where the last tile has 4 rows of 32, Triton 3.6 makes one product of 64 bits
    # of `first` and a lane's column then, and the column's upper bits end up in `first`.
    inside = (row < seq - first) & (col < half)
    angle = row * half + col
    cos += first.to(tl.int64) * half
    sin += first.to(tl.int64) * half
    at = row * (2 * half) + col
    start = (head.to(tl.int64) * seq + first) * (2 * half)
    x += start
    y += start
    if seq % ROWS == 0 and half == WIDTH:
        c, s = tl.load(cos + angle).to(tl.float32), tl.load(sin + angle).to(tl.float32)
        low = tl.load(x + at, eviction_policy=HINT).to(tl.float32)
        high = tl.load(x + half + at, eviction_policy=HINT).to(tl.float32)
        tl.store(y + at, (low * c - high * s).to(y.dtype.element_ty))
        tl.store(y + half + at, (high * c + low * s).to(y.dtype.element_ty))
    else:
        c = tl.load(cos + angle, mask=inside).to(tl.float32)
        s = tl.load(sin + angle, mask=inside).to(tl.float32)
        low = tl.load(x + at, mask=inside, eviction_policy=HINT).to(tl.float32)
        high = tl.load(x + half + at, mask=inside, eviction_policy=HINT).to(tl.float32)
        tl.store(y + at, (low * c - high * s).to(y.dtype.element_ty), mask=inside)
        tl.store(y + half + at, (high * c + low * s).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _rope_run(x, cos, sin, y, pairs, seq: tl.constexpr, half: tl.constexpr, RUN: tl.constexpr):
    pair = tl.program_id(0) * RUN + tl.arange(0, RUN)
    inside = pair < pairs
    angle = pair % (seq * half)
    at = pair + pair // half * half  # after the halves before it
    c = tl.load(cos + angle, mask=inside).to(tl.float32)
    s = tl.load(sin + angle, mask=inside).to(tl.float32)
    low = tl.load(x + at, mask=inside).to(tl.float32)
    high = tl.load(x + half + at, mask=inside).to(tl.float32)
    tl.store(y + at, (low * c - high * s).to(y.dtype.element_ty), mask=inside)
    tl.store(y + half + at, (high * c + low * s).to(y.dtype.element_ty), mask=inside)


def run_of(pairs: int, half_bytes: int) -> int:
    """Pairs of a program where all are one run, for halves of so many bytes; 0 where tiles are faster."""
    if half_bytes % PACK_BYTES == 0:
        return RUN if pairs <= MOST_OF_RUN else 0
    if pairs <= FEW_OF_LOOSE_RUN:
        return LOOSE_RUN // 2
    return LOOSE_RUN if pairs <= MOST_OF_LOOSE_RUN else 0


def run(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn ``x``, (batch, heads, seq, 2 half), by ``cos`` and ``sin``, (seq, half); contiguous."""
    batch, heads, seq, _ = x.shape
    half = cos.shape[1]
    y = torch.empty_like(x)
    pairs = x.numel() // 2
    if not pairs:
        return y
    if each := run_of(pairs, half * x.element_size()):
        _rope_run[(triton.cdiv(pairs, each),)](x, cos, sin, y, pairs, seq, half, each, num_warps=4)
    else:
        width = triton.next_power_of_2(half)
        rows = max(TILE_BYTES // x.element_size() // width, 1)
        warps = 4
        while rows > triton.next_power_of_2(seq):
            rows, warps = rows // 2, 2
        programs = triton.cdiv(seq, rows) * batch * heads
        _rope[(programs,)](x, cos, sin, y, seq, half, rows, width, hint_of(x), num_warps=warps)
    return y
