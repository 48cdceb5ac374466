import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, out, rows, cols, row_step, col_step, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    value = tl.load(x + r * row_step + c * col_step, mask=c < cols)
    tl.store(out + r * cols + c, 3 * value, mask=c < cols)


def tripled(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    copy_kernel[(rows,)](x, out, rows, cols, x.stride(1), x.stride(0), BLOCK=block)  # the mistake: exchanged
    return out
