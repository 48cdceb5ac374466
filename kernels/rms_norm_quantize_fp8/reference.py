"""RMS norm and its rows in FP8, in float64: the judge, never timed."""

import torch

EPSILON = 1e-6
LARGEST_CODE = 448  # of E4M3: 1.75 2^8
LEAST_EXPONENT = -6  # below it codes are as far apart as there
FRACTION_BITS = 3


def run(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes of the normalised rows of ``x``, (rows, cols), and their scales, (rows,).

    Codes are the quotients in float32, rounded to E4M3, halves to even: conversions start from there.
    """
    x = x.double()
    y = x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + EPSILON) * w.double()
    largest = y.abs().amax(dim=1, keepdim=True)
    largest = torch.where(largest == 0, LARGEST_CODE, largest)
    quotient = (y * LARGEST_CODE / largest).float().double()
    exponent = torch.frexp(quotient).exponent - 1
    step = torch.ldexp(torch.ones_like(y), exponent.clamp(min=LEAST_EXPONENT) - FRACTION_BITS)
    return torch.round(quotient / step) * step, largest[:, 0] / LARGEST_CODE
