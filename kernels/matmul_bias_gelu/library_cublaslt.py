"""C = gelu(A B + bias) by cuBLASLt alone: bias and GELU, in its tanh form, end the product's own kernel."""

import torch

from roofscope import Refusal

DOMAIN = "k >= 1"


def run(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU, in its tanh form, of A (m x k) times B (k x n) plus the bias of each column."""
    if not a.shape[1]:
        raise Refusal("torch._addmm_activation leaves GELU out where the sums are empty.")
    return torch._addmm_activation(bias, a, b, use_gelu=True)
