"""The convolutional network as PyTorch users write it: six kernels, and three that scale weights.

``region`` is what torch.compile compiles. Around it float32 is set to mean IEEE float32: cuDNN takes TF32 by
default.
"""

import torch
from torch.nn import functional


def region(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, w3: torch.Tensor) -> torch.Tensor:
    """The network itself."""
    x = torch.relu(functional.conv2d(x, w1 * _scale(w1), padding=1))
    x = functional.gelu(functional.conv2d(x, w2 * _scale(w2), stride=2, padding=1), approximate="tanh")
    return torch.softmax(functional.linear(x.flatten(1), w3 * _scale(w3)), dim=1)


def run(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, w3: torch.Tensor) -> torch.Tensor:
    """Class probabilities of images ``x``, (batch, 3, side, side); weights scaled by fan-in."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        return region(x, w1, w2, w3)


def _scale(w: torch.Tensor) -> float:
    """For uniform weights, of He et al., arXiv:1502.01852: layers keep the size of values."""
    return (6 / w[0].numel()) ** 0.5
