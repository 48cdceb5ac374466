"""How often each of 256 keys occurs, by CUB's DeviceHistogram: in shared memory, then in global memory.

Its counts are of 32 bits, and widening them is a launch; so it takes fewer than 2^31 keys.
"""

import numpy as np
import torch
from cuda.compute import make_histogram_even

from roofscope import Refusal
from roofscope.kernels.histogram.eager import BINS
from roofscope.kernels.shared.cub import call

DOMAIN = "n < 2**31"
# Levels are the borders of the bins, one more than these; floats are whole up to 2^24.
_LEVELS = np.array([BINS + 1], dtype=np.int32)
_LOWER, _UPPER = np.array([0], dtype=np.int32), np.array([BINS], dtype=np.int32)


def run(key: torch.Tensor) -> torch.Tensor:
    """The counts of ``key``, (n,), as (256,) in int64."""
    if key.numel() >= 2**31:
        raise Refusal(f"CUB's counts are of 32 bits here, and {key.numel()} keys may be more.")
    count = torch.zeros(BINS, dtype=torch.int32, device=key.device)
    if key.numel():
        arrays = {
            "d_samples": key,
            "d_histogram": count,
            "h_num_output_levels": _LEVELS,
            "h_lower_level": _LOWER,
            "h_upper_level": _UPPER,
        }
        made = make_histogram_even(**arrays, num_samples=key.numel())
        call(made, **arrays, num_samples=key.numel())
    return count.long()
