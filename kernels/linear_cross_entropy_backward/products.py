"""Launches ``products.cuh``: the two products with the gradient of logits, d."""

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.shared.tile_shares import new_ticket
from roofscope.kernels.shared.wgmma_matmul import Tile

TILE = Tile(128, 256, stages=4, step_ns=660, cluster=2, parts=0)  # as in products.cuh
# Clusters that share tiles are at other places along the sum: where L2 does not hold it, each reads its own.
SHARED_BYTES = 2**25
STEP, BAND = 64, 64  # elements along what is summed in a stage; columns of a box that wgmma transposes


def sums_between(parts: int, m: int, n: int, device: torch.device) -> torch.Tensor:
    """Room for what some of several parts of a product leave to the next, in float32."""
    count = TILE.count(m, n) * TILE.cluster if parts > 1 else 1
    return torch.empty(count * TILE.rows * TILE.columns, dtype=torch.float32, device=device)


def add_to_dx(
    program: CudaProgram,
    d: torch.Tensor,
    w: torch.Tensor,
    dx: torch.Tensor,
    sums: torch.Tensor,
    adds: bool,
    keeps: bool,
    scales: torch.Tensor | None = None,
) -> None:
    """Make dx = d w, its rows times ``scales``; ``sums`` is added where ``adds``, and left where ``keeps``.

    Of d, whose rows may be longer, as many columns as w has rows.
    """
    maps = tensor_map(d, (TILE.rows, STEP)), tensor_map(w, (STEP, BAND)), tensor_map(dx, (64, 64))
    _launch(program, "add_to_dx", maps, sums, (dx.shape[0], dx.shape[1], len(w)), adds, keeps, scales)


def make_dw(
    program: CudaProgram,
    d: torch.Tensor,
    x: torch.Tensor,
    dw: torch.Tensor,
    sums: torch.Tensor,
    adds: bool,
    keeps: bool,
) -> None:
    """Make dw = d^T x, with ``sums`` as above."""
    maps = tensor_map(d, (STEP, BAND)), tensor_map(x, (STEP, BAND)), tensor_map(dw, (64, 64))
    _launch(program, "make_dw", maps, sums, (dw.shape[0], dw.shape[1], len(x)), adds, keeps)


def _launch(
    program: CudaProgram,
    name: str,
    maps: tuple[Argument, ...],
    sums: torch.Tensor,
    sizes: tuple[int, int, int],
    adds: bool,
    keeps: bool,
    scales: torch.Tensor | None = None,
) -> None:
    m, n, k = sizes
    plans = TILE.plans(m, n, -(-k // STEP), program.multiprocessor_count)
    is_less_than_a_round = TILE.count(m, n) * TILE.cluster < program.multiprocessor_count
    may_share = is_less_than_a_round or 2 * k * (m + n) <= SHARED_BYTES
    plan = min(plans, key=lambda plan: plan.time_ns) if may_share else plans[0]
    # Parts of tiles that meet in memory, and of each a flag that it is there.
    parts, flags = sums, sums
    if plan.alone < TILE.count(m, n):
        parts = torch.empty(plan.blocks * TILE.rows * TILE.columns, dtype=torch.float32, device=sums.device)
        flags = torch.empty(plan.blocks * TILE.rows // 64, dtype=torch.int64, device=sums.device)
    program.launch(
        *(name, plan.blocks, TILE.threads, *maps, sums, *sizes, int(adds), int(keeps)),
        0 if scales is None else scales,
        *(parts, flags, new_ticket(), plan.alone),
        shared_bytes=TILE.shared_bytes,
    )
