import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, out, cols, COLS: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, COLS)  # the mistake: as wide as a row, whatever that is
    tl.store(out + row, tl.sum(tl.load(x + row * cols + i), axis=0))


def row_sum(x):
    out = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    sum_kernel[(x.shape[0],)](x, out, x.shape[1], COLS=x.shape[1])
    return out
