"""Float64 reference of the convolutional network."""

import torch
from torch.nn import functional


def run(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, w3: torch.Tensor) -> torch.Tensor:
    """Class probabilities of images ``x``, (batch, 3, side, side), in float64; weights scaled by fan-in."""
    x, w1, w2, w3 = x.double(), w1.double(), w2.double(), w3.double()
    x = torch.relu(functional.conv2d(x, w1 * _scale(w1), padding=1))
    x = functional.gelu(functional.conv2d(x, w2 * _scale(w2), stride=2, padding=1), approximate="tanh")
    return torch.softmax(functional.linear(x.flatten(1), w3 * _scale(w3)), dim=1)


def _scale(w: torch.Tensor) -> float:
    return (6 / w[0].numel()) ** 0.5
