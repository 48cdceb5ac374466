"""Cross entropy as Liger-Kernel's interface is: targets of int64, and outputs that are None unless asked for."""

from typing import Optional

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(X_ptr, X_stride, Y_ptr, loss_ptr, n_cols, ignore_index, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    y = tl.load(Y_ptr + row)
    if y == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        return
    X_ptr += row * X_stride
    m = float("-inf")
    d = 0.0
    for i in range(0, n_cols, BLOCK_SIZE):
        at = i + tl.arange(0, BLOCK_SIZE)
        block = tl.load(X_ptr + at, mask=at < n_cols, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(m, tl.max(block))
        d = d * tl.exp(m - larger) + tl.sum(tl.exp(block - larger))
        m = larger
    tl.store(loss_ptr + row, m + tl.log(d) - tl.load(X_ptr + y).to(tl.float32))


def cross_entropy_forward(_input, target, weight, ignore_index, reduction, return_z_loss):
    BT, V = _input.shape
    loss_1d = torch.zeros(BT, dtype=torch.float32, device=_input.device)
    cross_entropy_kernel[(BT,)](
        _input, _input.stride(-2), target, loss_1d, V, ignore_index, BLOCK_SIZE=min(4096, triton.next_power_of_2(V))
    )
    n_non_ignore = (target != ignore_index).sum()
    loss = loss_1d.sum() / n_non_ignore if reduction == "mean" else loss_1d.sum()
    z_loss = loss_1d if return_z_loss else None
    return loss.to(_input.dtype), z_loss


class CrossEntropyFunction(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx,
        _input: torch.Tensor,
        target: torch.Tensor,
        weight: Optional[torch.FloatTensor],
        ignore_index: int = -100,
        reduction: str = "mean",
        return_z_loss: bool = False,
    ):
        return cross_entropy_forward(_input, target, weight, ignore_index, reduction, return_z_loss)

    @staticmethod
    def backward(ctx, grad_output, grad_z_loss):
        raise NotImplementedError
