import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0)
    tl.store(out, part)  # the mistake: each program, and no atomic


def total(x):
    out = torch.zeros(1, device=x.device, dtype=x.dtype)
    sum_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
