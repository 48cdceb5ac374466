"""RMS norm as unsloth's kernels are laid out: a relative import, heuristics of Triton, a class with apply."""

import torch
import triton
import triton.language as tl

from .utils import calculate_settings


@triton.heuristics({"GEMMA": lambda args: bool(args["GEMMA"])})
@triton.jit
def _rms_layernorm_forward(
    Y,
    Y_row_stride: tl.constexpr,
    X,
    X_row_stride: tl.constexpr,
    W,
    r,
    n_cols: tl.constexpr,
    eps: tl.constexpr,
    GEMMA: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK_SIZE)
    mask = at < n_cols
    x = tl.load(X + row * X_row_stride + at, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + at, mask=mask, other=0)
    inverse = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(r + row, inverse)
    scale = w + 1.0 if GEMMA else w
    tl.store(Y + row * Y_row_stride + at, (x * inverse).to(w.dtype) * scale, mask=mask)


class RMSNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X: torch.Tensor, W: torch.Tensor, eps: float, gemma: bool = False):
        shape = X.shape
        dim = shape[-1]
        X = X.reshape(-1, dim)
        n_rows, n_cols = X.shape
        BLOCK_SIZE, num_warps = calculate_settings(n_cols)
        Y = torch.empty((n_rows, n_cols), dtype=X.dtype, device=X.device)
        r = torch.empty(n_rows, dtype=torch.float32, device=X.device)
        _rms_layernorm_forward[(n_rows,)](
            Y, Y.stride(0), X, X.stride(0), W, r, n_cols, eps, GEMMA=gemma, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps
        )
        ctx.save_for_backward(X, W, r)
        return Y.view(*shape)

    @staticmethod
    def backward(ctx, dY):
        raise NotImplementedError
