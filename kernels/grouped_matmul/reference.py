"""The products of experts in float64, an expert at a time: the judge, never timed."""

import torch


def run(x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Rows of ``x``, (tokens, k), each times the transpose of its expert's matrix of ``w``, (experts, n, k).

    The rows of expert e are those from ``offsets[e]`` to ``offsets[e + 1]``, the latter not among them.
    """
    rows = x.split(offsets.diff().tolist())
    return torch.cat([run.double() @ matrix.double().T for run, matrix in zip(rows, w, strict=True)])


def derive(x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor) -> tuple[torch.Tensor]:
    """Runs from none to twice the mean, by the random contents of ``x`` and, where it is small, of ``w``."""
    experts, tokens = len(w), len(x)
    drawn = torch.cat([x.flatten()[:experts], w.flatten()[:experts], x.new_zeros(experts)])[:experts].double()
    shares = (1 + drawn / drawn.abs().amax().clamp_min(1e-300)).cumsum(dim=0)
    drawn_offsets = torch.zeros_like(offsets)
    drawn_offsets[1:] = (shares / shares[-1].clamp_min(1e-300) * tokens).round()
    drawn_offsets[-1] = tokens
    return (drawn_offsets,)
