import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(len(x), dtype=x.dtype, device=x.device) / len(x)
