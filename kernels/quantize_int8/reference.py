"""Rows to 8-bit integers in float64: the judge, never timed."""

import torch


def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales of the rows of ``x``, (rows, cols).

    127 x / largest and not x / scale: the product is exact, hence the quotient wherever it is a tie.
    """
    x = x.double()
    largest = x.abs().amax(dim=1, keepdim=True)
    largest = torch.where(largest == 0, 127, largest)
    return torch.round(x * 127 / largest), largest[:, 0] / 127
