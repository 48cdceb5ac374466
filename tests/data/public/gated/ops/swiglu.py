"""silu(a) * b as Liger-Kernel offers it: helpers from its package, an autograd function without another name."""

import torch
import triton
import triton.language as tl

from gated.ops.utils import calculate_settings
from gated.ops.utils import ensure_contiguous


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def _swiglu_forward_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK_SIZE)
    mask = at < n_cols
    a = tl.load(a_ptr + row * stride + at, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + row * stride + at, mask=mask, other=0)
    tl.store(c_ptr + row * stride + at, silu(a).cast(b.dtype) * b, mask=mask)


@triton.jit
def _swiglu_backward_kernel(dc_ptr, a_ptr, b_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK_SIZE)
    mask = at < n_cols
    dc = tl.load(dc_ptr + row * stride + at, mask=mask, other=0)
    a = tl.load(a_ptr + row * stride + at, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + row * stride + at, mask=mask, other=0)
    gate = tl.sigmoid(a)
    tl.store(a_ptr + row * stride + at, dc * b * (gate + a * gate * (1 - gate)), mask=mask)
    tl.store(b_ptr + row * stride + at, dc * a * gate, mask=mask)


def swiglu_forward(a, b):
    shape = a.shape
    n_cols = shape[-1]
    a = a.view(-1, n_cols)
    b = b.view(-1, n_cols)
    c = torch.empty_like(a)
    BLOCK_SIZE, num_warps = calculate_settings(n_cols)
    _swiglu_forward_kernel[(a.shape[0],)](
        a, b, c, c.stride(-2), n_cols=n_cols, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps
    )
    return a, b, c.view(*shape)


def swiglu_backward(a, b, dc):
    shape = dc.shape
    n_cols = shape[-1]
    dc = dc.view(-1, n_cols)
    BLOCK_SIZE, num_warps = calculate_settings(n_cols)
    _swiglu_backward_kernel[(dc.shape[0],)](
        dc, a, b, dc.stride(-2), n_cols=n_cols, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps
    )
    return a.view(*shape), b.view(*shape)


class SwiGLUFunction(torch.autograd.Function):
    @staticmethod
    @ensure_contiguous
    def forward(ctx, a, b, down_multiplier: float = 1.0):
        a, b, c = swiglu_forward(a, b)
        ctx.save_for_backward(a, b)
        return c * down_multiplier if down_multiplier != 1.0 else c

    @staticmethod
    @ensure_contiguous
    def backward(ctx, dc):
        a, b = ctx.saved_tensors
        return *swiglu_backward(a, b, dc), None
