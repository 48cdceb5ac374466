"""Rotary embedding by QuACK, in the CuTe DSL, out of place.

Its heads are (batch, seq, heads, dim) of any strides, so it reads ours and writes its likes without a copy.
"""

import torch
from quack.rotary import apply_rotary

from roofscope import Refusal

DOMAIN = "half % 4 == 0 and 4 <= half <= 256 and batch <= 65535 and seq <= 65535 * 4"
_MOST = 65535  # blocks of a grid along y and z


def run(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn ``x``, (batch, heads, seq, 2 half), by ``cos`` and ``sin``, (seq, half)."""
    half = cos.shape[1]
    if half % 4 or not 4 <= half <= 256:
        raise Refusal(f"QuACK turns heads of 8 to 512 elements, a multiple of 8, not {2 * half}.")
    if x.shape[0] > _MOST or x.shape[2] > 4 * _MOST:  # positions: a block has 4 at least
        raise Refusal(f"QuACK turns up to {_MOST} sequences of up to {4 * _MOST} positions.")
    return apply_rotary(x.transpose(1, 2), cos, sin).transpose(1, 2)
