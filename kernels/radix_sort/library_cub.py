"""Keys in ascending order by CUB's DeviceRadixSort, keys alone: a digit of 8 bits a pass, by looking back."""

import torch
from cuda.compute import SortOrder, make_radix_sort

from roofscope.kernels.shared.cub import call


def run(key: torch.Tensor) -> torch.Tensor:
    """The keys of ``key``, (n,), in ascending order."""
    out = torch.empty_like(key)
    if key.numel():
        arrays = {"d_in_keys": key, "d_out_keys": out, "d_in_values": None, "d_out_values": None}
        call(make_radix_sort(**arrays, order=SortOrder.ASCENDING), **arrays, num_items=key.numel())
    return out
