"""4-bit groups back to numbers in Triton: low nibbles are one half of a group, high nibbles the other.

Formula: x = (q - 8) scale; 2 rows cols FLOP, rows cols (1/2 + s + s/group) bytes.
Mapping: rows and groups are one run. A program owns GROUPS groups as a tile of GROUPS x WIDTH packed bytes, 4
or 8 a thread, which become two tiles of elements of the same form, 16 bytes of each a thread, or half as many
where groups are few. No nibble changes its thread: interleaving neighbours instead would take shared memory
and barriers.
Idea: the layout is that of GGUF's Q4_0.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import hint_of

THREADS = 128
PACK_BYTES = 16
FEW = 2**18  # packed bytes, which more programs share


@triton.jit
def _dequantize(
    packed, scale, x, count, HALF: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr, HINT: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * GROUPS
    group = first + tl.arange(0, GROUPS)
    col = tl.arange(0, WIDTH)
    at = group[:, None] * HALF + col[None, :]
    inside = (group[:, None] < count) & (col[None, :] < HALF)
    whole = (first + GROUPS <= count) and HALF == WIDTH
    if whole:
        codes = tl.load(packed + at, eviction_policy=HINT)
    else:
        codes = tl.load(packed + at, mask=inside, other=0, eviction_policy=HINT)
    factor = tl.load(scale + group, mask=group < count, other=0.0).to(tl.float32)[:, None]
    low = ((codes & 15).to(tl.float32) - 8.0) * factor
    high = ((codes >> 4).to(tl.float32) - 8.0) * factor
    address = x + group[:, None] * (2 * HALF) + col[None, :]
    if whole:
        tl.store(address, low.to(x.dtype.element_ty))
        tl.store(address + HALF, high.to(x.dtype.element_ty))
    else:
        tl.store(address, low.to(x.dtype.element_ty), mask=inside)
        tl.store(address + HALF, high.to(x.dtype.element_ty), mask=inside)


def run(packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """The numbers of ``packed``, (rows, groups, group/2), by the ``scale``, (rows, groups), of each group."""
    rows, groups, half = packed.shape
    count = rows * groups
    x = torch.empty((rows, groups, 2 * half), dtype=scale.dtype, device=packed.device)
    if count:
        width = triton.next_power_of_2(half)
        tile_bytes = THREADS * PACK_BYTES // (2 if packed.numel() <= FEW else 1)
        height = max(tile_bytes // x.element_size() // width, 1)
        _dequantize[(triton.cdiv(count, height),)](
            packed, scale, x, count, half, height, width, hint_of(packed), num_warps=4
        )
    return x
