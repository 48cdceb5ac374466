import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return (1 + x.mean(-1, keepdim=True)).expand(x.shape).contiguous()
