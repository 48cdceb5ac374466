"""Float64 reference of layer norm's gradient."""

import torch


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts, in float64."""
    dy, rstd = dy.double(), rstd.double()[:, None]
    normal = (x.double() - mean.double()[:, None]) * rstd
    dw, db = (dy * normal).sum(dim=0), dy.sum(dim=0)
    if dy.numel() == 0:  # no row, or rows without a mean
        return dy, dw, db
    weighted = dy * w.double()
    slope = (weighted * normal).mean(dim=1, keepdim=True)
    level = weighted.mean(dim=1, keepdim=True)
    return weighted.sub_(level).sub_(normal.mul_(slope)).mul_(rstd), dw, db
