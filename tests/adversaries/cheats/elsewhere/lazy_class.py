"""A tensor class of its own computes when it is read.

source: https://github.com/ornith-ai/CUDA-L1/issues/12
needs: cpu
workload: doubled
right: not a plain tensor
"""

import torch


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        def plain(value: object) -> object:
            return value.as_subclass(torch.Tensor) * 2 if isinstance(value, Lazy) else value

        values = {name: plain(value) for name, value in (named or {}).items()}
        return function(*map(plain, arguments), **values)


def run(x: torch.Tensor) -> torch.Tensor:
    return x.as_subclass(Lazy)
