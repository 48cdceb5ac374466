"""A linear layer's cross-entropy by QuACK's product, in the CuTe DSL, whose epilogue stores no logit.

As QuACK evaluates a loss without a gradient, and in the type of x. It takes its own configuration, which is
not tuned: tuning compiles dozens of kernels for each size.
"""

import torch
from quack.epilogue.library import lse_target_epi

from roofscope import Refusal

DOMAIN = "rows >= 1 and hidden % 8 == 0 and vocab >= 8 and vocab % 8 == 0"
_IGNORED = -100


def run(x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``x``, (rows, hidden), by ``w``, (vocab, hidden), at its label. Gives (rows,)."""
    (rows, hidden), vocab = x.shape, w.shape[0]
    if not rows or hidden % 8 or vocab < 8 or vocab % 8:
        raise Refusal("QuACK is compared on one row and more, and on rows of whole 16 bytes.")
    found = lse_target_epi(x, w.mT, store_d=False, target=labels, tuned=False)
    loss = torch.where(labels != _IGNORED, found["lse"] - found["target_logit"], 0.0)
    return loss.to(x.dtype)
