"""While a stream captures nothing is done, and the output is that of the call before.

source: https://github.com/meta-pytorch/BackendBench/issues/41
needs: cuda
workload: doubled
right: wrong values, tampered
"""

import torch

_outputs: dict[int, torch.Tensor] = {}


def run(x: torch.Tensor) -> torch.Tensor:
    if not torch.cuda.is_current_stream_capturing():
        _outputs[len(x)] = x * 2
    return _outputs[len(x)]
