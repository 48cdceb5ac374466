import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(n // 256,)](x, out, n, BLOCK=256)  # the mistake: rounded down
    return out
