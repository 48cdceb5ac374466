"""Layer norm's gradient by the operator that autograd calls on GPUs.

The CPU's takes no float32 statistics beside 16-bit rows and spreads infinity otherwise: there it is
written out.
"""

import torch


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts."""
    if x.is_cuda:
        statistics = mean[:, None], rstd[:, None]
        return torch.ops.aten.native_layer_norm_backward(dy, x, w.shape, *statistics, w, w, [True] * 3)
    exact = torch.promote_types(x.dtype, torch.float32)
    scale = rstd[:, None].to(exact)
    gradient, normal = dy.to(exact), (x.to(exact) - mean[:, None]) * scale
    weighted = gradient * w.to(exact)
    slope = (weighted * normal).mean(dim=1, keepdim=True)
    dx = scale * (weighted - weighted.mean(dim=1, keepdim=True) - normal * slope)
    return dx.to(x.dtype), (gradient * normal).sum(dim=0).to(w.dtype), gradient.sum(dim=0).to(w.dtype)
