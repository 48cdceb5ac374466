"""Groups of numbers to 4-bit integers in float64: the judge, never timed."""

import torch


def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed codes and scales of the groups of ``x``, (rows, groups, group).

    7 x / largest and not x / scale: the product is exact, hence the quotient wherever it is a tie.
    """
    x = x.double()
    largest = x.abs().amax(dim=2, keepdim=True)
    largest = torch.where(largest == 0, 7, largest)
    low, high = (torch.round(x * 7 / largest) + 8).chunk(2, dim=2)
    return low + 16 * high, largest[:, :, 0] / 7
