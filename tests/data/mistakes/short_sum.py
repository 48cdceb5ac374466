import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float16)  # the mistake: sums in 16 bits
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * cols + i, mask=i < cols, other=0.0).to(tl.float16)
    tl.store(out + row, tl.sum(total, axis=0))


def row_sum(x):
    out = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    sum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=64)
    return out
