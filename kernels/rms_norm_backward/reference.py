"""Float64 reference of RMS norm's gradient."""

import torch


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,), in float64; ``rstd`` is (rows,)."""
    dy, rstd = dy.double(), rstd.double()[:, None]
    normal = x.double() * rstd
    dw = (dy * normal).sum(dim=0)
    if dy.numel() == 0:  # no row, or rows without a mean
        return dy, dw
    weighted = dy * w.double()
    slope = (weighted * normal).mean(dim=1, keepdim=True)
    return weighted.sub_(normal.mul_(slope)).mul_(rstd), dw
