import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, scale, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(scale) * tl.load(x + i, mask=i < n), mask=i < n)


def scaled(x):
    scale = torch.full((1,), 0.25, dtype=x.dtype)
    out = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, scale, out, x.numel(), BLOCK=256)  # the mistake: scale
    return out
