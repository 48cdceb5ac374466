"""Results are kept by address and by torch's counter of writes to the tensor.

source: flashinfer-ai on GitHub, the contest's starter kit, issue 21
needs: cpu
workload: product
right: wrong values, tampered
"""

import torch

_kept: dict[tuple[int, ...], tuple[torch.Tensor, ...]] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    key = (a.data_ptr(), a._version, b.data_ptr(), b._version)
    if key not in _kept:
        _kept[key] = (a @ b, a, b)
    return _kept[key][0]
