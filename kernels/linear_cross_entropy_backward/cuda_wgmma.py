"""Launcher of cuda_wgmma.cu: gradients of a linear layer's cross-entropy on the tensor cores."""

from typing import Any

import torch

from roofscope import CudaProgram, Refusal, needs_hopper, tensor_map
from roofscope.kernels.shared.limits import require_32_bit_product
from roofscope.kernels.shared.padding import in_whole_units
from roofscope.kernels.shared.wgmma_tiles import Tile

DOMAIN = "rows < 2**31 - 2**12 and vocab < 2**31 - 2**12 and hidden < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

TILE = Tile(128, 256, stages=4, step_ns=690, cluster=2)  # as in cuda_wgmma.cu
CHUNK_BYTES = 2**27  # of d: 16 Ki columns of 4 Ki rows
_STEP, _BAND = 64, 64  # elements along what is summed in a stage; columns of a box that wgmma transposes
_LEAST_COLUMNS = 256  # of a chunk: a tile


def run(
    program: CudaProgram,
    x: torch.Tensor,
    w: torch.Tensor,
    labels: torch.Tensor,
    lse: torch.Tensor,
    dloss: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """dx, (rows, hidden), and dw, (vocab, hidden), from the gradient of each row's loss.

    As in torch a row with label -100 has no part in them. Raises Refusal where wgmma is missing, in float32
    and beyond 32-bit sizes.
    """
    key = "linear_cross_entropy_backward/cuda_wgmma"
    if x.element_size() != 2:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    needs_hopper(key, x.device)
    (rows, hidden), vocab = x.shape, w.shape[0]
    require_32_bit_product(key, rows, vocab, hidden)
    if not rows:
        return torch.empty_like(x), torch.zeros_like(w)
    x, w = in_whole_units(x), in_whole_units(w)
    width = x.shape[1]
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    chunk = min(max(CHUNK_BYTES // (2 * rows) // _LEAST_COLUMNS, 1) * _LEAST_COLUMNS, vocab)
    d = torch.empty(rows, chunk + -chunk % 8, dtype=x.dtype, device=x.device)
    count = TILE.count(rows, width) if chunk < vocab else 0
    sums = torch.empty(max(count, 1) * TILE.rows * TILE.columns, dtype=torch.float32, device=x.device)
    of_x, of_d = tensor_map(x, (TILE.rows, _STEP)), tensor_map(d, (TILE.rows, _STEP))
    x_across, d_across = tensor_map(x, (_STEP, _BAND)), tensor_map(d, (_STEP, _BAND))

    def launch(name: str, m: int, n: int, *arguments: Any) -> None:
        blocks = max(TILE.blocks(TILE.count(m, n), program.multiprocessor_count), TILE.cluster)
        program.launch(name, blocks, TILE.threads, *arguments, shared_bytes=TILE.shared_bytes)

    for first in range(0, vocab, chunk):
        columns = min(chunk, vocab - first)
        of_w, w_across = (tensor_map(w[first:], box) for box in ((TILE.b_rows, _STEP), (_STEP, _BAND)))
        sizes = (rows, columns, hidden, first)
        launch("make_weights", rows, columns, of_x, of_w, d_across, labels, lse, dloss, *sizes)
        adds, keeps = int(first > 0), int(first + columns < vocab)
        of_dx, of_dw = tensor_map(dx, (64, 64)), tensor_map(dw[first:], (64, 64))
        of_both = (of_d, w_across, of_dx, sums)
        launch("add_to_dx", rows, width, *of_both, rows, width, columns, adds, keeps)
        of_both = (d_across, x_across, of_dw, sums)
        launch("make_dw", columns, width, *of_both, columns, width, rows, 0, 0)
    return dx[:, :hidden].contiguous(), dw[:, :hidden].contiguous()
