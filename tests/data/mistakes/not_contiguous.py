import torch
import triton
import triton.language as tl


@triton.jit
def exp_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)


def exp_of_transposed(x):
    turned = x.t()
    out = torch.empty(turned.shape, device=x.device, dtype=x.dtype)
    exp_kernel[(triton.cdiv(x.numel(), 256),)](turned, out, x.numel(), BLOCK=256)  # the mistake: a view
    return out
