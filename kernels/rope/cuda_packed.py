"""Launches ``cuda_packed.cu``: rotary embedding, one thread per 16 bytes of either half of a head."""

import torch

from roofscope.kernels.shared.division import NUMBERS, division

THREADS = 256  # as in cuda_packed.cu
PACK_BYTES = 16
PAIRS = 2  # of a thread, where half a head is no whole packs
# Of both tables: longer ones L2 has lost by the time of the next head, as beside them come as many bytes of x
# and of y each.
MOST_TABLE_BYTES = 4 * 1024 * 1024


def run(program, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn ``x``, (batch, heads, seq, 2 half), by ``cos`` and ``sin``, (seq, half); contiguous."""
    batch, heads, seq, _ = x.shape
    half = cos.shape[1]
    y = torch.empty_like(x)
    packs, rest = divmod(half * x.element_size(), PACK_BYTES)
    if rest or any(tensor.data_ptr() % PACK_BYTES for tensor in (x, cos, sin, y)):
        pairs = x.numel() // 2
        if 0 < pairs < NUMBERS - PAIRS * THREADS:
            sizes = (pairs, *division(half), *division(seq * half))
            program.launch(
                "rope_pairs", -(-pairs // (PAIRS * THREADS)), THREADS, x, cos, sin, y, *sizes, overlaps=True
            )
        else:
            sizes = (seq, half, pairs)
            program.launch(
                "rope_many_pairs", -(-pairs // THREADS), THREADS, x, cos, sin, y, *sizes, overlaps=True
            )
    elif packs:
        width = min(1 << (packs - 1).bit_length(), THREADS)
        height = THREADS // width
        blocks, all_heads = -(-seq // height), batch * heads
        heads_first = cos.nbytes + sin.nbytes > MOST_TABLE_BYTES
        arguments = (x, cos, sin, y, seq, half, all_heads if heads_first else blocks, heads_first)
        program.launch("rope_packs", blocks * all_heads, (width, height), *arguments, overlaps=True)
    return y
