"""One step of AdamW in Triton: a program a tile, unmasked where the tile is whole.

Formula: m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g^2, p' = (1 - lr wd) p - lr' m' / (c sqrt(v') + eps).
14n FLOP, 28n bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 16 bytes of each array for each of its 128
threads, or 8 or 4 for 256 where arrays are small (see shared/maps.py).
Idea: vector_add/triton_tiles. What depends on the step alone is computed on the host, once.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.adamw.hyperparameters import (
    BETA_1,
    BETA_2,
    EPSILON,
    INVERSE_ROOT,
    KEPT,
    STEP_RATE,
)
from roofscope.kernels.shared.maps import launch_map

Tensor = torch.Tensor

_BETA_2 = tl.constexpr(BETA_2)
_NEW_1 = tl.constexpr(1 - BETA_1)
_NEW_2 = tl.constexpr(1 - BETA_2)
_EPSILON = tl.constexpr(EPSILON)
_INVERSE_ROOT = tl.constexpr(INVERSE_ROOT)
_KEPT = tl.constexpr(KEPT)
_STEP_RATE = tl.constexpr(STEP_RATE)


@triton.jit
def _stepped(p, g, m, v):
    m = m + (g - m) * _NEW_1
    v = v * _BETA_2 + g * g * _NEW_2
    return p * _KEPT - m / (tl.sqrt(v) * _INVERSE_ROOT + _EPSILON) * _STEP_RATE, m, v


@triton.jit
def _step(p, g, m, v, new_p, new_m, new_v, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = first + tl.arange(0, TILE)
    if first + TILE <= n:
        old_p = tl.load(p + at, eviction_policy=HINT)
        old_g = tl.load(g + at, eviction_policy=HINT)
        old_m = tl.load(m + at, eviction_policy=HINT)
        old_v = tl.load(v + at, eviction_policy=HINT)
        p_out, m_out, v_out = _stepped(old_p, old_g, old_m, old_v)
        tl.store(new_p + at, p_out)
        tl.store(new_m + at, m_out)
        tl.store(new_v + at, v_out)
    else:
        inside = at < n
        old_p = tl.load(p + at, mask=inside, other=0.0)
        old_g = tl.load(g + at, mask=inside, other=0.0)
        old_m = tl.load(m + at, mask=inside, other=0.0)
        old_v = tl.load(v + at, mask=inside, other=0.0)
        p_out, m_out, v_out = _stepped(old_p, old_g, old_m, old_v)
        tl.store(new_p + at, p_out, mask=inside)
        tl.store(new_m + at, m_out, mask=inside)
        tl.store(new_v + at, v_out, mask=inside)


def run(parameter: Tensor, gradient: Tensor, mean: Tensor, mean_square: Tensor) -> tuple[Tensor, ...]:
    """Parameters, means and means of squares after the step, (n,) each; inputs are contiguous."""
    new = tuple(torch.empty_like(x) for x in (parameter, mean, mean_square))
    launch_map(_step, parameter, gradient, mean, mean_square, *new)
    return new
