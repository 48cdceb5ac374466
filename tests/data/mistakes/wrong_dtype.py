import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 0.5 * tl.load(x + i, mask=i < n), mask=i < n)


def halved(x):
    out = torch.empty(x.shape, device=x.device, dtype=torch.float16)  # the mistake: not the input's type
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
