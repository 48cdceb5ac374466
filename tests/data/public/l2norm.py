"""Rows of length one as flash-linear-attention has them: autotuned, a function round an autograd function."""

import functools

import torch
import torch.nn as nn
import triton
import triton.language as tl


def input_guard(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        args = (one.contiguous() if isinstance(one, torch.Tensor) else one for one in args)
        return fn(*args, **kwargs)

    return wrapper


@triton.autotune(
    configs=[triton.Config({"BT": BT}, num_warps=warps) for warps in [2, 4] for BT in [16, 32]],
    key=["D"],
)
@triton.jit(do_not_specialize=["T"])
def l2norm_fwd_kernel(x, y, rstd, eps, T, D: tl.constexpr, BD: tl.constexpr, BT: tl.constexpr):
    i_t = tl.program_id(0).to(tl.int64)
    o_t = i_t * BT + tl.arange(0, BT)
    o_d = tl.arange(0, BD)
    inside = (o_t < T)[:, None] & (o_d < D)[None, :]
    at = o_t[:, None] * D + o_d[None, :]
    b_x = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    b_rstd = 1 / tl.sqrt(tl.sum(b_x * b_x, 1) + eps)
    tl.store(y + at, (b_x * b_rstd[:, None]).to(y.dtype.element_ty), mask=inside)
    tl.store(rstd + o_t, b_rstd, mask=o_t < T)


def l2norm_fwd(x: torch.Tensor, eps: float = 1e-6, output_dtype: torch.dtype | None = None):
    shape = x.shape
    x = x.view(-1, shape[-1])
    y = torch.empty_like(x, dtype=output_dtype or x.dtype)
    T, D = x.shape
    rstd = torch.empty((T,), dtype=torch.float32, device=x.device)
    BD = triton.next_power_of_2(D)

    def grid(meta):
        return (triton.cdiv(T, meta["BT"]),)

    l2norm_fwd_kernel[grid](x, y, rstd, eps, T=T, D=D, BD=BD)
    return y.view(shape), rstd.view(shape[:-1])


def l2norm_bwd(y: torch.Tensor, rstd: torch.Tensor, dy: torch.Tensor, eps: float = 1e-6):
    return (dy - (dy * y).sum(-1, keepdim=True) * y) * rstd[..., None]


class L2NormFunction(torch.autograd.Function):
    @staticmethod
    @input_guard
    def forward(ctx, x, eps=1e-6, output_dtype=None):
        y, rstd = l2norm_fwd(x, eps, output_dtype)
        ctx.save_for_backward(y, rstd)
        return y

    @staticmethod
    @input_guard
    def backward(ctx, dy):
        y, rstd = ctx.saved_tensors
        return l2norm_bwd(y, rstd, dy), None, None


def l2norm(x: torch.Tensor, eps: float = 1e-6, output_dtype: torch.dtype | None = None) -> torch.Tensor:
    return L2NormFunction.apply(x, eps, output_dtype)


class L2Norm(nn.Module):
    def __init__(self, eps: float = 1e-6, output_dtype: torch.dtype | None = None):
        super().__init__()
        self.eps = eps
        self.output_dtype = output_dtype

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return l2norm(x, self.eps, self.output_dtype)
