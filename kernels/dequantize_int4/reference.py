"""4-bit codes back to numbers in float64: the judge, never timed."""

import torch


def run(packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """The numbers of ``packed``, (rows, groups, group/2), by the ``scale``, (rows, groups), of each group."""
    codes = torch.cat((packed % 16, packed // 16), dim=2).double() - 8
    return codes * scale.double()[:, :, None]
