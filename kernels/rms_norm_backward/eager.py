"""RMS norm's gradient by the operator that autograd calls, which exists on GPUs only."""

import torch


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    if x.is_cuda:
        return torch.ops.aten._fused_rms_norm_backward(dy, x, w.shape, rstd[:, None], w, [True, True])
    exact = torch.promote_types(x.dtype, torch.float32)
    scale = rstd[:, None].to(exact)
    gradient, normal = dy.to(exact), x.to(exact) * scale
    weighted = gradient * w.to(exact)
    dx = scale * (weighted - normal * (weighted * normal).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (gradient * normal).sum(dim=0).to(w.dtype)
