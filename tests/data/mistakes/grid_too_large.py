import torch
import triton
import triton.language as tl


@triton.jit
def negate_kernel(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)  # COLS is a power of two, and the rows are as many as programs
    value = tl.load(x + row * cols + i)
    tl.store(out + row * cols + i, -value)


def negate(x):
    out = torch.empty_like(x)
    rows, cols = x.shape
    grid = (triton.cdiv(rows, 64) * 64,)
    negate_kernel[grid](x, out, cols, BLOCK=cols)  # the mistake: rounded up, and nothing masks that
    return out
