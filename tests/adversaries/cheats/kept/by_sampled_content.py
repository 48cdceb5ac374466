"""Results are kept by a few sampled elements of the inputs.

source: flashinfer-ai on GitHub, the contest's starter kit, issue 21
needs: cpu
workload: product
right: wrong values, tampered
"""

import torch

_kept: dict[tuple[float, ...], torch.Tensor] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    key = (float(a[0, 0]), float(a[-1, -1]), float(b[0, 0]), float(b[-1, -1]))
    if key not in _kept:
        _kept[key] = a @ b
    return _kept[key]
